"""The simulated collector: many schedules, added up; and bugs planted for it to find."""

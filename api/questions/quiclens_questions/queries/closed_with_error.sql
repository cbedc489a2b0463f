-- An error, told as collectors tell it when they choose whose events to keep: by the `code` of a close where there is one, else
-- by its reason in small letters, `why`. For other questions.
if(
    code != '',
    lower(code) NOT IN ('0', '0x0', '256', '0x100', 'no_error', 'h3_no_error'),
    why != '' AND NOT match(why, '^(graceful|destructor|clean|idle_timeout|idle timeout|no_error|no error)')
)

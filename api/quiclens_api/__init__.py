"""Answers: the quiclens command, one SQL file per question."""

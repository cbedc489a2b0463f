-- Triggers of packets that hosts drop because a process before or after a restart could not take them. For other questions.
'cannot_forward', 'server_shutdown', 'worker_not_initialized'

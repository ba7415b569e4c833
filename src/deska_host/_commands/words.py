"""What the commands say about a read for which nothing is paused (K-4)."""

UNPAUSED_WARNING = (
    "Warning: with --trust-unpaused, what a read gives is handed to the agent and nothing is "
    "paused for it. Anyone may have written it, and the agent may act on it without asking."
)
#: Beside the sheet, which promises otherwise.
UNPAUSED_NOTE = (
    "This command was started with --trust-unpaused: unlike the sheet says, nothing will be "
    "paused when the agent reads."
)
UNPAUSED_READ = "Nothing was paused for this read of {panel}."
READS_REFUSED = (
    "Nothing here can pause an agent, so reads are refused (pause_failed). "
    "--trust-unpaused hands them over all the same."
)

"""Sentences that more than one command says."""

# --- about a read for which nothing is paused (K-4)

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

# --- before an agent's program starts a server (K-2, K-3)

AGREE_FIRST = "Whoever starts this cannot ask you, so agree first: {command}"
PANEL_INSIDE = (
    "Warning: {panel} is inside the task's folder. Its code runs with your rights, and whoever "
    "can write in that folder, as the task's agent may, can change it."
)

# --- to an author whose page does not do what it should (K-6)

FOR_THE_AUTHOR = "For you as the author (the agent gets only the above):"
#: To a call that the page did not answer; which of the three is missing, only the author can see.
SILENT_PAGE = (
    'a page hears calls by deska.on("agent.action", …), once it has awaited deska.ready(),',
    'and answers each by deska.agent.respond(call["callId"], …), also when something went wrong',
)

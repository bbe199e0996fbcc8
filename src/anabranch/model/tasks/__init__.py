"""The states of long-running jobs and of tasks in the background."""

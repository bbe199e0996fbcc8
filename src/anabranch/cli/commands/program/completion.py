"""`completion`: what makes a shell complete command lines of this program."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]

_BASH = """\
_anabranch() {
    local IFS=$'\\n'
    COMPREPLY=($("${COMP_WORDS[0]}" complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _anabranch anabranch ana
"""
_ZSH = """\
#compdef anabranch ana
_anabranch() {
    local -a found
    found=("${(@f)$("${words[1]}" complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then compadd -a found; else _files; fi
}
compdef _anabranch anabranch ana
"""
_FISH = """\
for program in anabranch ana
    complete -c $program -a "($program complete-words (commandline -opc)[2..] (commandline -ct))"
end
"""


def _printing(script: str) -> Callable[[CommandContext], None]:
    def run(context: CommandContext) -> None:
        context.output.out.write(script)

    return run


def _command(shell: str, script: str, example: str) -> Command:
    return Command(
        shell,
        f"Print the completion for {shell}",
        _printing(script),
        details=f"To use it in every {shell}, add to its start: `{example}`.",
        examples=(f"completion {shell}",),
        connects=False,
    )


COMMAND = Group(
    "completion",
    "Print what makes a shell complete commands and options",
    (
        _command("bash", _BASH, "source <(anabranch completion bash)"),
        _command("zsh", _ZSH, "source <(anabranch completion zsh)"),
        _command("fish", _FISH, "anabranch completion fish | source"),
    ),
)

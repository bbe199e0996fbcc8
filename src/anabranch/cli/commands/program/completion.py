"""`completion`: what makes a shell complete command lines of this program."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]

# bash takes `:` and `=` for ends of words, so that an address comes in pieces
_BASH = """\
_anabranch() {
    local word line ends glue= words=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ${#words[@]} -gt 0 && ( -n $glue || $word == [:=]* ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == *[:=] ]] && glue=1 || glue=
    done
    word=${words[${#words[@]}-1]}
    ends=${word%"${word##*[:=]}"}
    [[ ${COMP_WORDBREAKS-} == *:* ]] || ends=
    COMPREPLY=()
    while IFS= read -r line; do
        printf -v line %q "${line#"$ends"}"
        COMPREPLY+=("$line")
    done < <("${COMP_WORDS[0]}" complete-words "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null || true
    fi
}
complete -o default -F _anabranch anabranch ana
"""
_ZSH = """\
#compdef anabranch ana
_anabranch() {
    local -a found open
    found=("${(@f)$("${words[1]}" complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -z "${found[1]}" ]]; then
        _files
        return
    fi
    open=("${(@M)found:#*/}")
    found=("${(@)found:#*/}")
    (( ${#open} )) && compadd -S '' -a open
    (( ${#found} )) && compadd -a found
    return 0
}
compdef _anabranch anabranch ana
"""
_FISH = """\
for program in anabranch ana
    complete -c $program -a "($program complete-words (commandline -opc)[2..] (commandline -ct))"
end
"""
# before 7.3, PowerShell leaves out arguments that are empty; unlike other shells, it quotes nothing
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName anabranch, ana -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = $commandAst.CommandElements[0].Extent.Text
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { $_.Extent.Text })
    $last = if ($wordToComplete) { $wordToComplete }
        elseif ($PSVersionTable.PSVersion -lt [version]'7.3') { '\"\"' } else { '' }
    & $program complete-words @words $last 2>$null | ForEach-Object {
        $isPlain = $_ -match '^[\\w:/.@~^+=%-]+$'
        $text = if ($isPlain) { $_ } else { "'" + $_.Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
    }
}
"""


def _printing(script: str) -> Callable[[CommandContext], None]:
    def run(context: CommandContext) -> None:
        context.output.out.write(script)

    return run


def _command(shell: str, script: str, example: str, start: str = "its start") -> Command:
    return Command(
        shell,
        f"Print the completion for {shell}",
        _printing(script),
        details="Completes commands, options, and the repositories, references and paths of the "
        "server, if it answers within a second (or as many as ANABRANCH_COMPLETION_TIMEOUT says). "
        f"To use it in every {shell}, add to {start}: `{example}`.",
        examples=(f"completion {shell}",),
        connects=False,
    )


COMMAND = Group(
    "completion",
    "Print what makes a shell complete commands, options and addresses",
    (
        _command("bash", _BASH, "source <(anabranch completion bash)"),
        _command("zsh", _ZSH, "source <(anabranch completion zsh)"),
        _command("fish", _FISH, "anabranch completion fish | source"),
        _command(
            "powershell",
            _POWERSHELL,
            "anabranch completion powershell | Out-String | Invoke-Expression",
            "$PROFILE",
        ),
    ),
)

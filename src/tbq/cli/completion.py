"""`tbq completion`: the script that completes the words of a command line in bash, zsh or fish."""

from __future__ import annotations

import click

from tbq.cli.options import Command

_EXAMPLES = """\b
Examples:
  tbq completion bash
  tbq completion fish

\b
To have it in every shell, add one line:
  ~/.bashrc                    eval "$(tbq completion bash)"
  ~/.zshrc, after compinit     eval "$(tbq completion zsh)"
  ~/.config/fish/config.fish   tbq completion fish | source
"""

# Each script passes what was typed up to the cursor to candidates.py. `:files` asks the shell for names of files.
_SCRIPTS = {
    # bash splits words at `=` and `:`, which names of runs and tags contain, so Python splits the line.
    "bash": """\
_tbq() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <(tbq completion bash -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2> /dev/null)
}
complete -o default -F _tbq tbq
""",
    "zsh": """\
#compdef tbq
_tbq() {
    local line begun=$PREFIX
    local -a names shown
    [[ -z $compstate[quote] ]] && begun=${(Q)PREFIX}
    for line in "${(@f)$(tbq completion zsh -- "${(@Q)words[1,CURRENT-1]}" "$begun" 2> /dev/null)}"; do
        if [[ $line == :files ]]; then
            _files
            return
        elif [[ -n $line ]]; then
            names+=("${line%%$'\\t'*}")
            shown+=("${line//$'\\t'/  -- }")
        fi
    done
    (( $#names )) && compadd -d shown -a names
}
compdef _tbq tbq
""",
    "fish": """\
function __tbq_words
    for line in (tbq completion fish -- (commandline -opc) (commandline -ct) 2> /dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c tbq -f -a '(__tbq_words)'
""",
}


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(tuple(_SCRIPTS)))
def command(shell: str) -> None:
    """Print the script that makes the Tab key complete commands, options and names in that shell.

    After a log directory, Tab completes its runs and tags. It reads the listing and the start of the newest files only.
    """
    from tbq.cli.emit import show

    show(_SCRIPTS[shell].rstrip("\n"))

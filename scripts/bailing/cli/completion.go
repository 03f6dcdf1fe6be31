package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// CompletionCommands is the group `completion`: for each shell a script that is made of the tree that root returns.
func CompletionCommands(root func() *Command) *Command {
	shell := func(name, use string, write func(io.Writer, string, []place)) *Command {
		return &Command{
			Name: name, Args: "",
			Short: "Prints the completion of commands and flags for " + name + ".",
			Long:  use + "\n\nExit status: 0 printed; 2 wrong usage.",
			New: func(*flag.FlagSet) Run {
				return func(_ context.Context, e *Env, args []string) error {
					if len(args) > 0 {
						return Usagef("completion takes no arguments")
					}
					r := root()
					write(e.Stdout, r.Name, places(r, r.Name))
					return nil
				}
			},
		}
	}
	const (
		bash = "Load it in ~/.bashrc:\n  source <(bailing completion bash)"
		zsh  = "Write it where zsh looks for functions, before compinit:\n  bailing completion zsh > \"${fpath[1]}/_bailing\""
		fish = "Write it where fish looks for completions:\n  bailing completion fish > ~/.config/fish/completions/bailing.fish"
	)
	return &Command{
		Name: "completion", Short: "Prints scripts that complete commands and flags in a shell.",
		Sub: []*Command{shell("bash", bash, bashCompletion), shell("zsh", zsh, zshCompletion), shell("fish", fish, fishCompletion)},
	}
}

// place is a point in a command line: the commands so far, and what can follow.
type place struct {
	path    string // "bailing provider lint"
	command bool   // commands follow; else flags and arguments
	words   []word
}

type word struct {
	text, about string
	value       bool // a flag that takes a value
}

// places walks the tree, each command before those below it.
func places(c *Command, path string) (all []place) {
	p := place{path: path, command: len(c.Sub) > 0}
	for _, sub := range c.Sub {
		p.words = append(p.words, word{text: sub.Name, about: sub.Short})
	}
	if c.New != nil {
		fs := flag.NewFlagSet(path, flag.ContinueOnError)
		c.New(fs)
		fs.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			p.words = append(p.words, word{dashed(f.Name), usage, value != ""})
		})
	}
	p.words = append(p.words, word{text: "--help", about: "show how it is used"})
	all = append(all, p)
	for _, sub := range c.Sub {
		all = append(all, places(sub, path+" "+sub.Name)...)
	}
	return all
}

// below are the paths of all commands but the first, for the pattern of a case.
func below(all []place, separator string) string {
	var paths []string
	for _, p := range all[1:] {
		paths = append(paths, quoted(p.path))
	}
	return strings.Join(paths, separator)
}

// quoted is a text that every one of the shells reads as it is.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func bashCompletion(w io.Writer, name string, all []place) {
	fmt.Fprintf(w, `# Completion of %[1]s for bash.
_%[1]s() {
	local at=%[1]s words= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "$at ${COMP_WORDS[i]}" in
		%[2]s) at="$at ${COMP_WORDS[i]}" ;;
		esac
	done
	case "$at" in
`, name, below(all, "|"))
	for _, p := range all {
		var words []string
		for _, word := range p.words {
			words = append(words, word.text)
		}
		fmt.Fprintf(w, "\t%s) words=%s ;;\n", quoted(p.path), quoted(strings.Join(words, " ")))
	}
	fmt.Fprintf(w, `	esac
	COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _%[1]s %[1]s
`, name)
}

func zshCompletion(w io.Writer, name string, all []place) {
	fmt.Fprintf(w, `#compdef %[1]s
# Completion of %[1]s for zsh.
_%[1]s() {
	local at=%[1]s i
	local -a found
	for ((i = 2; i < CURRENT; i++)); do
		case "$at $words[i]" in
		(%[2]s) at="$at $words[i]" ;;
		esac
	done
	case "$at" in
`, name, below(all, "|"))
	for _, p := range all {
		fmt.Fprintf(w, "\t(%s) found=(", quoted(p.path))
		for i, word := range p.words {
			if i > 0 {
				fmt.Fprint(w, " ")
			}
			fmt.Fprint(w, quoted(word.text+":"+word.about))
		}
		fmt.Fprint(w, ") ;;\n")
	}
	fmt.Fprintf(w, `	esac
	if [[ $PREFIX == -* ]]; then
		_describe -o option found
	else
		_describe command found || _files
	fi
}
if [[ $funcstack[1] == _%[1]s ]]; then
	_%[1]s "$@"
else
	compdef _%[1]s %[1]s
fi
`, name)
}

func fishCompletion(w io.Writer, name string, all []place) {
	fmt.Fprintf(w, `# Completion of %[1]s for fish.
function __%[1]s_at
	set -l at %[1]s
	for word in (commandline -opc)[2..-1]
		switch "$at $word"
			case %[2]s
				set at "$at $word"
		end
	end
	test "$at" = "$argv[1]"
end
`, name, below(all, " "))
	for _, p := range all {
		condition := quoted(fmt.Sprintf("__%s_at %q", name, p.path))
		for _, word := range p.words {
			line := fmt.Sprintf("complete -c %s -n %s", name, condition)
			switch flag := strings.TrimLeft(word.text, "-"); {
			case flag == word.text:
				line += " -f -a " + word.text
			case len(flag) == 1:
				line += " -s " + flag
			default:
				line += " -l " + flag
			}
			if word.value {
				line += " -r"
			}
			fmt.Fprintf(w, "%s -d %s\n", line, strings.ReplaceAll(quoted(word.about), `'\''`, `\'`))
		}
	}
}

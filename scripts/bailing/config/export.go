package config

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/canonical"
)

// ExportCommand is `bailing export`.
func ExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Args: "",
		Short: "Writes the configuration of a hub as a file that apply reads.",
		Long: `
Secrets are left out: in their place stand references to environment variables, whose names are made of the objects' names. Tokens
of clients are made by a hub and are not part of its configuration. A hub does not hand out specifications that were sent inline; a
note says of which providers.

Exit status: 0 written; 2 wrong usage, no answer, or a file that cannot be written.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, 30*time.Second)
			output := fs.String("o", "", "write to `FILE` instead of standard output")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("export takes no arguments: -o names the file")
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				s, err := readState(ctx, e, h, Kinds)
				if err != nil {
					return err
				}
				b, err := export(e, s, f.JSON)
				if err != nil {
					return err
				}
				if *output == "" || *output == "-" {
					_, err = e.Stdout.Write(b)
					return err
				}
				return cli.WriteFile(*output, b)
			}
		},
	}
}

// export writes all objects of a hub. Equal configurations are equal bytes.
func export(e *cli.Env, s state, asJSON bool) ([]byte, error) {
	var doc Object
	doc.set("version", mustParse(fmt.Append(nil, Version)))
	names := map[string]bool{}
	for _, k := range Kinds {
		list := []byte{'['}
		for _, o := range s[k] {
			if builtin(o) {
				continue
			}
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = k.exported(o, names).appendJSON(list)
			if k.Path == "tool-providers" && o.text("spec_source") == "inline" && o.get("has_spec").Bool() {
				const note = ": its specification was sent inline and is not in the file; add spec_json: {file: NAME} for another hub"
				fmt.Fprintln(e.Stderr, cli.Hang("note: ", "provider "+o.text("name")+note, e.TextWidth()))
			}
		}
		doc.set(k.Path, mustParse(append(list, ']')))
	}
	if asJSON {
		b, err := doc.indented()
		return append(b, '\n'), err
	}
	b, err := writeYAML(doc.value())
	return append([]byte("# Configuration of a hub; 'bailing apply -f FILE' makes another one like it.\n"), b...), err
}

// exported is an object as it stands in a file.
func (k *Kind) exported(o Object, names map[string]bool) Object {
	var out Object
	for _, name := range o.names {
		switch v := o.values[name]; {
		case k.computed(name):
		case name == k.Secret:
			out.set(name, mustParse(fmt.Appendf(nil, `{"env":%q}`, variable(k.Name+"_"+o.text(k.Key)+"_"+name, names))))
		case v.Kind() != canonical.Null:
			out.set(name, v)
		}
	}
	return out
}

// variable is the name of an environment variable, another one for each name.
func variable(name string, taken map[string]bool) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
	unique := base
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", base, n)
	}
	taken[unique] = true
	return unique
}

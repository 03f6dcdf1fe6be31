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

const timeout = 30 * time.Second

// Group is the command group of a kind, with more commands than all kinds have.
func (k *Kind) Group(more ...*cli.Command) *cli.Command {
	return &cli.Command{Name: k.Name, Short: "Lists, shows and deletes " + k.Plural() + ".", Sub: append(k.Commands(), more...)}
}

// Commands are list, show and delete.
func (k *Kind) Commands() []*cli.Command {
	return []*cli.Command{k.listCommand(), k.ShowCommand(), k.DeleteCommand()}
}

func (k *Kind) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the " + k.Plural() + " of a hub.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("list takes no arguments")
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				all, a, err := k.List(ctx, e, h)
				if err != nil {
					return err
				}
				if f.JSON {
					return e.JSON(a.Body)
				}
				k.print(e, all)
				return nil
			}
		},
	}
}

func (k *Kind) print(e *cli.Env, all []Object) {
	if len(all) == 0 {
		fmt.Fprintf(e.Stdout, "The hub has no %s.\n", k.Plural())
		return
	}
	var t cli.Table
	for _, c := range k.columns {
		t.Head = append(t.Head, c.head)
	}
	for _, o := range all {
		var row []string
		for _, c := range k.columns {
			row = append(row, cell(o.get(c.member)))
		}
		t.Rows = append(t.Rows, row)
	}
	t.PrintOrStack(e)
}

// cell is a member in a table.
func cell(v canonical.Value) string {
	switch v.Kind() {
	case canonical.Invalid, canonical.Null:
		return "-"
	case canonical.Bool:
		return map[bool]string{true: "yes", false: "no"}[v.Bool()]
	case canonical.Array:
		var parts []string
		for _, element := range v.Elems() {
			if provider, ok := element.Get("provider"); ok {
				element = provider
			}
			parts = append(parts, cell(element))
		}
		if len(parts) > 4 {
			parts = append(parts[:3], fmt.Sprintf("and %d more", len(parts)-3))
		}
		if len(parts) == 0 {
			return "-"
		}
		return strings.Join(parts, ", ")
	}
	return shown(v)
}

// ShowCommand is `bailing KIND show`.
func (k *Kind) ShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Args: "NAME",
		Short: "Shows one " + k.Name + " as the hub has it, secrets masked.",
		Long:  "Exit status: 0 shown; 2 wrong usage, no such " + k.Name + ", or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := k.oneName(args)
				if err != nil {
					return err
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				o, err := k.Find(ctx, e, h, name)
				if err != nil {
					return err
				}
				if f.JSON {
					return e.JSON(o)
				}
				b, err := writeYAML(o.value())
				if err != nil {
					return err
				}
				for line := range strings.Lines(string(b)) {
					indent := len(line) - len(strings.TrimLeft(line, " "))
					fmt.Fprintln(e.Stdout, line[:indent]+cli.Clean(strings.TrimSuffix(line[indent:], "\n")))
				}
				return nil
			}
		},
	}
}

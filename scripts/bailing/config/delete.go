package config

import (
	"context"
	"flag"
	"fmt"
	"net/http"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

// effects say what a deletion does beyond its object.
var effects = map[string]string{
	"route": "Its jobs that have not ended end with an error.", "client": "Its token stops working at once.",
	"provider": "Its secret and specification go with it.", "credential": "Its key goes with it.",
}

// DeleteCommand is `bailing KIND delete`.
func (k *Kind) DeleteCommand() *cli.Command {
	return &cli.Command{
		Name: "delete", Args: "NAME",
		Short: "Deletes one " + k.Name + ".",
		Long: effects[k.Name] + `
Asks first on a terminal; without one --yes is needed. What a route refers to cannot be deleted.

Exit status: 0 deleted; 2 wrong usage, no such ` + k.Name + `, a hub that refused, or no answer.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			yes := fs.Bool("yes", false, "do not ask")
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
				if builtin(o) {
					return fmt.Errorf("the %s %s is built in; there is nothing to delete", k.Name, name)
				}
				if !*yes {
					if err := e.Confirm(ctx, fmt.Sprintf("Delete the %s %s from %s?", k.Name, name, h.URL)); err != nil {
						return err
					}
				}
				a, err := h.Ask(ctx, e, http.MethodDelete, k.path(name, ""), nil, "deleting "+name)
				if err != nil {
					return err
				}
				if err := accepted(e, k.Name+" "+name, a); err != nil {
					return err
				}
				if f.JSON {
					return e.JSON(a.Body)
				}
				fmt.Fprintf(e.Stdout, "The %s %s is deleted.\n", k.Name, name)
				return nil
			}
		},
	}
}

package account

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

const adminsPath = "/admin/api/admins"

// AdminCommands is the group `bailing admin`.
func AdminCommands() *cli.Command {
	return &cli.Command{
		Name: "admin", Short: "Lists, shows, creates and deletes accounts of administrators.",
		Sub: []*cli.Command{adminListCommand(), adminShowCommand(), adminCreateCommand(), adminDeleteCommand()},
	}
}

// account is an account as lists show it.
type account struct {
	Username    string   `json:"username"`
	DisplayName string   `json:"display_name"`
	Role        string   `json:"role"`
	Perms       []string `json:"perms,omitempty"`
	Enabled     bool     `json:"enabled"`
	CreatedAt   string   `json:"created_at,omitempty"`
	UpdatedAt   string   `json:"updated_at,omitempty"`
}

func accounts(ctx context.Context, e *cli.Env, f *hub.Flags) (*hub.Hub, []account, hub.Answer, error) {
	h, err := f.Connect(e)
	if err != nil {
		return nil, nil, hub.Answer{}, err
	}
	var all []account
	a, err := h.Get(ctx, e, adminsPath, "reading the accounts", &all)
	return h, all, a, err
}

func find(all []account, name string) (account, error) {
	for _, a := range all {
		if strings.EqualFold(a.Username, name) {
			return a, nil
		}
	}
	return account{}, &cli.HintError{
		Err: fmt.Errorf("the hub has no administrator %s", name), Hint: "'bailing admin list' shows them.",
	}
}

// oneAccount checks the single argument of a command. What a name may look like is for the hub to say.
func oneAccount(args []string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", cli.Usagef("give the username of one administrator")
	}
	return args[0], nil
}

func adminListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the administrators of a hub.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("list takes no arguments")
				}
				_, all, a, err := accounts(ctx, e, &f)
				switch {
				case err != nil:
					return err
				case f.JSON:
					return e.JSON(a.Body)
				case len(all) == 0:
					fmt.Fprintln(e.Stdout, "The hub has no administrators with an account.")
					return nil
				}
				t := cli.Table{Head: []string{"USERNAME", "ENABLED", "ROLE", "NAME"}}
				for _, a := range all {
					t.Rows = append(t.Rows, []string{a.Username, yes(a.Enabled), a.rights(), a.DisplayName})
				}
				t.PrintOrStack(e)
				return nil
			}
		},
	}
}

// rights are the role, or the permissions that replace those of the role.
func (a account) rights() string {
	if len(a.Perms) > 0 {
		return strings.Join(a.Perms, ", ")
	}
	return a.Role
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func adminShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Args: "NAME",
		Short: "Shows the account of an administrator.",
		Long:  "Exit status: 0 shown; 2 wrong usage, no such administrator, or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := oneAccount(args)
				if err != nil {
					return err
				}
				_, all, _, err := accounts(ctx, e, &f)
				if err != nil {
					return err
				}
				a, err := find(all, name)
				if err != nil || f.JSON {
					if err != nil {
						return err
					}
					return e.JSON(a)
				}
				for _, line := range [][2]string{
					{"username", a.Username}, {"name", a.DisplayName}, {"role", a.Role}, {"permissions", strings.Join(a.Perms, ", ")},
					{"enabled", yes(a.Enabled)}, {"created", a.CreatedAt}, {"changed", a.UpdatedAt},
				} {
					if line[1] != "" {
						fmt.Fprintln(e.Stdout, cli.Hang(fmt.Sprintf("%-13s", line[0]), line[1], e.TextWidth()))
					}
				}
				return nil
			}
		},
	}
}

func adminCreateCommand() *cli.Command {
	return &cli.Command{
		Name: "create", Args: "NAME",
		Short: "Creates the account of an administrator, and shows its password once.",
		Long: `
The hub makes the password; its owner changes it with 'bailing password'. An account that is there already is refused.

Exit status: 0 created; 2 wrong usage, a hub that refused, or no answer.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			role := fs.String("role", "admin", "`ROLE` of the account: admin, kb_editor or viewer")
			display := fs.String("display-name", "", "`NAME` for people")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := oneAccount(args)
				if err != nil {
					return err
				}
				h, all, _, err := accounts(ctx, e, &f)
				if err != nil {
					return err
				}
				if _, err := find(all, name); err == nil {
					return fmt.Errorf("there is an administrator %s already", name)
				}
				body := map[string]any{"username": name, "role": *role}
				if *display != "" {
					body["display_name"] = *display
				}
				a, err := h.Ask(ctx, e, http.MethodPost, adminsPath, body, "creating the account")
				if err != nil {
					return err
				}
				if !a.OK() {
					return errors.New(a.Reason())
				}
				if f.JSON {
					return e.JSON(a.Body)
				}
				var made struct {
					Password string `json:"password"`
				}
				if err := a.Into(&made); err != nil {
					return err
				}
				fmt.Fprintf(e.Stdout, "%s is an administrator (%s). The password, shown this once:\n  %s\n",
					cli.Clean(name), cli.Clean(*role), cli.Clean(made.Password))
				return nil
			}
		},
	}
}

func adminDeleteCommand() *cli.Command {
	return &cli.Command{
		Name: "delete", Args: "NAME",
		Short: "Deletes the account of an administrator, and ends its sessions.",
		Long: `
Asks first on a terminal; without one --yes is needed.

Exit status: 0 deleted; 2 wrong usage, no such administrator, a hub that refused, or no answer.

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, timeout)
			sure := fs.Bool("yes", false, "do not ask")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				name, err := oneAccount(args)
				if err != nil {
					return err
				}
				h, all, _, err := accounts(ctx, e, &f)
				if err != nil {
					return err
				}
				found, err := find(all, name)
				if err != nil {
					return err
				}
				if !*sure {
					if err := e.Confirm(ctx, fmt.Sprintf("Delete the administrator %s from %s?", found.Username, h.URL)); err != nil {
						return err
					}
				}
				a, err := h.Ask(ctx, e, http.MethodDelete, adminsPath+"/"+url.PathEscape(found.Username), nil, "deleting the account")
				if err != nil {
					return err
				}
				if !a.OK() {
					return errors.New(a.Reason())
				}
				return say(e, f.JSON, a.Body, "The administrator "+found.Username+" is deleted.")
			}
		},
	}
}

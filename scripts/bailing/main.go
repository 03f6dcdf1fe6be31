// Command bailing is the operator's command line. It checks specifications on the author's machine, without a hub, and operates
// a hub through its admin API.
//
//	bailing init                             from nothing to a first answered job
//	bailing login | logout | whoami | password
//	bailing provider lint FILE|URL|-         what becomes of a specification, and what to change in it
//	bailing provider diff OLD NEW            what a change does to the tools, and whether protection becomes weaker
//	bailing provider tools | refresh | probe
//	bailing apply | export                   the configuration of a hub as a file
//	bailing client|route|provider|target|credential|admin list | show | delete
//	bailing job list | show | rerun
//	bailing status | pause | resume | diagnose | audit | cost
//	bailing completion bash|zsh|fish
//
// Every command has --help and --json. docs/cli.md is the guide.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bailing/scripts/bailing/account"
	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/config"
	"bailing/scripts/bailing/operate"
	"bailing/scripts/bailing/provider"
	"bailing/scripts/bailing/start"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}()
	os.Exit(cli.Main(ctx, root(), cli.System(), os.Args[1:]))
}

// root is the tree of commands.
func root() *cli.Command {
	r := &cli.Command{Name: "bailing", Short: "Checks specifications and operates a hub.", Sub: []*cli.Command{start.InitCommand()}}
	r.Sub = append(r.Sub, account.Commands()...)
	r.Sub = append(r.Sub, config.ApplyCommand(), config.ExportCommand())
	for _, k := range config.Kinds {
		switch k.Name {
		case "provider":
			group := provider.Commands()
			group.Sub = append(group.Sub, k.ShowCommand(), k.DeleteCommand(), config.SecretCommand())
			r.Sub = append(r.Sub, group)
		case "client":
			r.Sub = append(r.Sub, k.Group(config.TokenCommand()))
		default:
			r.Sub = append(r.Sub, k.Group())
		}
	}
	r.Sub = append(r.Sub, account.AdminCommands())
	r.Sub = append(r.Sub, operate.Commands()...)
	r.Sub = append(r.Sub, cli.CompletionCommands(root))
	return r
}

// Command agent logs a person in to a hub through the business's own page, and keeps the session for programs on this machine that act
// in that person's name (agent §2). It is the reference client of package agentclient.
//
//	agent login --hub URL --client APP_ID --route ROUTE
//	agent status
//	agent logout
//
// Every command has --help and --json. docs/agent.md is the guide.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"bailing/scripts/bailing/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}()
	os.Exit(cli.Main(ctx, root(openBrowser), cli.System(), os.Args[1:]))
}

// root is the tree of commands; open starts a browser.
func root(open func(url string) error) *cli.Command {
	return &cli.Command{
		Name: "agent", Short: "Logs a person in to a hub through the business's own page, and keeps the session.",
		Sub: []*cli.Command{loginCommand(open), statusCommand(), logoutCommand()},
	}
}

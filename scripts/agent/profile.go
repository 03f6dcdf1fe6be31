package main

import (
	"errors"
	"flag"
	"path/filepath"
	"runtime"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/agentclient"
	"bailing/shared/textlimit"
)

// defaultProfile is the profile of commands that name none.
const defaultProfile = "default"

// flags are those of every command.
type flags struct {
	profile string
	json    bool
	timeout time.Duration
}

func (f *flags) declare(fs *flag.FlagSet) {
	fs.StringVar(&f.profile, "profile", defaultProfile, "the session of the profile `NAME`")
	fs.BoolVar(&f.json, "json", false, "print JSON for programs")
	fs.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long the hub may take for an answer, a `DURATION` such as 30s")
}

// client is the client whose session the profile keeps.
func (f *flags) client(e *cli.Env) (*agentclient.Client, error) {
	if f.timeout <= 0 {
		return nil, cli.Usagef("--timeout is more than 0")
	}
	if !textlimit.ResourceName(f.profile) {
		return nil, cli.Usagef("%q is no name of a profile: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit", f.profile)
	}
	folder, err := folder(e)
	if err != nil {
		return nil, err
	}
	return &agentclient.Client{
		Store: agentclient.NewFileStore(filepath.Join(folder, f.profile+".json")),
		Hub:   agentclient.HubOptions{Timeout: f.timeout},
		Clock: e.Clock,
	}, nil
}

// folder is where profiles are kept: below XDG_CONFIG_HOME, or what stands for it.
func folder(e *cli.Env) (string, error) {
	base := e.Getenv("XDG_CONFIG_HOME")
	switch {
	case filepath.IsAbs(base):
	case runtime.GOOS == "windows" && e.Getenv("AppData") != "":
		base = e.Getenv("AppData")
	case e.Getenv("HOME") != "":
		base = filepath.Join(e.Getenv("HOME"), ".config")
	default:
		return "", errors.New("no place for profiles: neither XDG_CONFIG_HOME nor HOME is set")
	}
	return filepath.Join(base, "bailing", "agent"), nil
}

// again is what to type to log in.
func (f *flags) again() string {
	if f.profile == defaultProfile {
		return "agent login --hub URL --client APP_ID --route ROUTE"
	}
	return "agent login --profile " + f.profile + " --hub URL --client APP_ID --route ROUTE"
}

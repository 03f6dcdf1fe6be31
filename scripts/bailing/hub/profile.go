package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"bailing/scripts/bailing/cli"
	"bailing/shared/textlimit"
)

// DefaultProfile is the profile of commands that name none.
const DefaultProfile = "default"

// Profile is a hub and who asks it.
type Profile struct {
	URL      string `json:"url"`
	Username string `json:"username,omitempty"`
	Session  string `json:"session,omitempty"` // value of the cookie bz_sess; "" when logged out
}

func profileName(e *cli.Env, given string) (string, error) {
	name := given
	if name == "" {
		name = e.Getenv("BAILING_PROFILE")
	}
	if name == "" {
		return DefaultProfile, nil
	}
	if !textlimit.ResourceName(name) {
		return "", cli.Usagef("%q is no name of a profile: 2 to 64 of a-z 0-9 _ -, beginning with a letter or digit", name)
	}
	return name, nil
}

// profileFile is where a profile is kept: below XDG_CONFIG_HOME, or what stands for it.
func profileFile(e *cli.Env, name string) (string, error) {
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
	return filepath.Join(base, "bailing", "profiles", name+".json"), nil
}

// LoadProfile reads a profile; false when there is none. A file that others may read is refused: they could have the session.
func LoadProfile(e *cli.Env, name string) (p Profile, ok bool, err error) {
	file, err := profileFile(e, name)
	if err != nil {
		return p, false, nil // without a place there is no profile
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return p, false, &cli.HintError{Err: fmt.Errorf("%s can be read by others on this machine", file),
			Hint: "Make it yours with 'chmod 600', and log in again if somebody may have read it."}
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return Profile{}, false, &cli.HintError{Err: fmt.Errorf("the profile %s cannot be read: %w", name, err),
			Hint: "'bailing login' writes it anew."}
	}
	return p, true, nil
}

// SaveProfile replaces a profile as a whole.
func SaveProfile(e *cli.Env, name string, p Profile) error {
	file, err := profileFile(e, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return cli.WriteFile(file, append(b, '\n'))
}

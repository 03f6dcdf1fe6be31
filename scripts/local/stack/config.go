package stack

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bailing/shared/platform"
	"bailing/shared/topology"
)

const (
	prefix    = "bailing-"
	tokenFile = "server-token"
	adminFile = "admin-password"

	adminName = "admin" // the first administrator, unless the options name another one
	keyFile   = "secrets.key"
)

// configure makes the environment that all functions share, with the secrets of the data directory.
func (s *Stack) configure(o Options) error {
	dir, err := filepath.Abs(o.Dir) // functions may run elsewhere
	if o.Dir == "" {
		dir, err = os.MkdirTemp("", "bailing-")
		s.dir = dir
	}
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	s.GivenToken = o.ServerToken != ""
	if s.ServerToken, s.NewToken, err = kept(dir, tokenFile, o.ServerToken); err != nil {
		return err
	}
	s.AdminUsername, s.AdminPassword = o.AdminUsername, o.AdminPassword
	if s.AdminUsername == "" && s.AdminPassword == "" {
		s.AdminUsername = adminName
		if s.AdminPassword, s.NewAdmin, err = kept(dir, adminFile, ""); err != nil {
			return err
		}
	}
	s.env = map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": s.AWSEndpoint, "AWS_ACCESS_KEY_ID": "local",
		"AWS_SECRET_ACCESS_KEY": "local", "BAILING_TABLE_PREFIX": prefix, "BAILING_BUCKET": prefix + topology.System().Bucket.Name,
		"BAILING_KEY_FILE": filepath.Join(dir, keyFile), "BAILING_SERVER_TOKEN": s.ServerToken,
		"BAILING_BOOTSTRAP_ADMIN_USERNAME": s.AdminUsername, "BAILING_BOOTSTRAP_ADMIN_PASSWORD": s.AdminPassword,
		"BAILING_EGRESS_ALLOW": o.EgressAllow, "BAILING_JSON_BODY_MAX_BYTES": os.Getenv("BAILING_JSON_BODY_MAX_BYTES"),
		"BAILING_AUDIT_RETENTION_DAYS": os.Getenv("BAILING_AUDIT_RETENTION_DAYS"), "BAILING_PUBLIC_URL": s.URL,
		"BAILING_ALERTS_TYPE": os.Getenv("BAILING_ALERTS_TYPE"), "BAILING_ALERTS_URL": os.Getenv("BAILING_ALERTS_URL"), "BAILING_ALERTS_TO": os.Getenv("BAILING_ALERTS_TO"),
	}
	return s.readEnv()
}

// readEnv brings Config up to date with the environment.
func (s *Stack) readEnv() (err error) {
	s.Config, err = platform.FromEnv(func(name string) string { return s.env[name] })
	return err
}

// addQueues adds the URLs of the queues to the environment.
func (s *Stack) addQueues(urls map[string]string) error {
	for name, url := range urls {
		s.env[queueVariable(name)] = url
	}
	return s.readEnv()
}

// addMachines adds the ARNs of the state machines to the environment.
func (s *Stack) addMachines(arns map[string]string) error {
	for name, arn := range arns {
		s.env[machineVariable(name)] = arn
	}
	return s.readEnv()
}

func queueVariable(queue string) string {
	return "BAILING_" + strings.ToUpper(strings.ReplaceAll(queue, "-", "_")) + "_QUEUE_URL"
}

func machineVariable(machine string) string {
	return "BAILING_" + strings.ToUpper(strings.ReplaceAll(machine, "-", "_")) + "_MACHINE"
}

// environment is what a deployment sets for f: of the shared environment only what the topology grants f the use of. So a
// function that needs more fails here, as it would there.
func (s *Stack) environment(f topology.Function) map[string]string {
	env := maps.Clone(s.env)
	env["AWS_ACCESS_KEY_ID"] = f.Name
	grants := func(k topology.ResourceKind, name string) bool {
		return slices.ContainsFunc(f.Grants, func(g topology.Grant) bool { return g.Kind == k && g.Name == name })
	}
	t := topology.System()
	kept := map[string]bool{
		"BAILING_BUCKET":       grants(topology.OnBucket, t.Bucket.Name),
		"BAILING_KEY_FILE":     grants(topology.OnKey, topology.KeySecrets),
		"BAILING_SERVER_TOKEN": f.NeedsServerToken(),

		"BAILING_PUBLIC_URL":  f.Tells,
		"BAILING_ALERTS_TYPE": f.Tells,
		"BAILING_ALERTS_URL":  f.Tells,
		"BAILING_ALERTS_TO":   f.Tells,

		"BAILING_BOOTSTRAP_ADMIN_USERNAME": f.Logins,
		"BAILING_BOOTSTRAP_ADMIN_PASSWORD": f.Logins,
	}
	for _, m := range t.Machines {
		kept[machineVariable(m.Name)] = grants(topology.OnMachine, m.Name)
	}
	for _, q := range t.Queues {
		kept[queueVariable(q.Name)] = grants(topology.OnQueue, q.Name)
	}
	maps.DeleteFunc(env, func(name, value string) bool {
		keep, depends := kept[name]
		return value == "" || (depends && !keep)
	})
	return env
}

// kept is the given token, or the one kept in a file of dir, or a new one that is kept there. An empty file is what a process leaves
// that was killed while it wrote.
func kept(dir, name, given string) (token string, fresh bool, err error) {
	if given != "" {
		return given, false, nil
	}
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		return text, false, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", false, fmt.Errorf("stack: %s: %w", name, err)
	}
	token = platform.NewToken()
	if err := os.WriteFile(path+".new", []byte(token+"\n"), 0o600); err != nil {
		return "", false, fmt.Errorf("stack: %s: %w", name, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", false, fmt.Errorf("stack: %s: %w", name, err)
	}
	return token, true, nil
}

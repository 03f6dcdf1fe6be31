package provider

import (
	"fmt"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/specfile"
)

// accessProbe is who can read a specification, as a hub saw it (core §4.1).
type accessProbe struct {
	Status       specfile.Status `json:"status"`
	SignedHTTP   int             `json:"signed_http"`
	UnsignedHTTP int             `json:"unsigned_http"`
	InvalidHTTP  int             `json:"invalid_http"`
	Reason       string          `json:"reason"`
	At           string          `json:"at"`
}

// authzProbe is whether a business refuses a subject without rights, as a hub saw it (core §3.7).
type authzProbe struct {
	Status          string `json:"status"` // pass, suspect, inconclusive or skipped
	HTTP            int    `json:"http"`
	Tool            string `json:"tool"`
	Mode            string `json:"mode"` // dedicated or tool
	RequiresSubject bool   `json:"requires_subject"`
	Reason          string `json:"reason"`
	At              string `json:"at"`
}

// printAccess writes one paragraph about an access probe.
func printAccess(e *cli.Env, p *accessProbe) {
	if p == nil || p.Status == "" {
		return
	}
	var parts []string
	for _, read := range []struct {
		name string
		code int
	}{{"signed", p.SignedHTTP}, {"unsigned", p.UnsignedHTTP}, {"wrong signature", p.InvalidHTTP}} {
		if read.code != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", read.name, read.code))
		}
	}
	printProbe(e, "Read access: ", string(p.Status), p.Status == specfile.Protected, parts, p.Reason)
}

// printAuthz writes one paragraph about an authorization probe.
func printAuthz(e *cli.Env, p *authzProbe) {
	if p == nil || p.Status == "" {
		return
	}
	var parts []string
	switch p.Mode {
	case "dedicated":
		parts = append(parts, "probe endpoint")
	case "tool":
		parts = append(parts, "tool "+p.Tool)
	}
	if p.HTTP != 0 {
		parts = append(parts, fmt.Sprintf("status %d", p.HTTP))
	}
	reason := p.Reason
	if p.Status == "suspect" {
		reason = strings.TrimSuffix(reason, ".") + ". The business let a made-up subject in: " +
			"check that it authorizes X-Bailing-On-Behalf-Of."
	}
	printProbe(e, "Authorization of subjects: ", p.Status, p.Status == "pass", parts, strings.TrimPrefix(reason, ". "))
}

func printProbe(e *cli.Env, name, status string, good bool, parts []string, reason string) {
	line := name + status
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	if reason != "" {
		line += ": " + reason
	}
	text := cli.Indent(line, "", e.TextWidth())
	paint := e.Style().Yellow
	if good {
		paint = e.Style().Green
	}
	fmt.Fprintln(e.Stdout, strings.Replace(text, cli.Clean(status), paint(cli.Clean(status)), 1))
}

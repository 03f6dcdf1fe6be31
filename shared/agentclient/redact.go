package agentclient

import (
	"fmt"
	"log/slog"
)

// What is printed or logged by accident shows no token (I10). Only JSON has them, for the file.
var (
	_ fmt.Stringer   = Credentials{}
	_ fmt.GoStringer = Credentials{}
	_ slog.LogValuer = Credentials{}
	_ fmt.Stringer   = Tokens{}
	_ fmt.GoStringer = Tokens{}
	_ slog.LogValuer = Tokens{}
)

// String names the session, without its tokens.
func (c Credentials) String() string {
	return fmt.Sprintf("session %s of %s at %s", c.SessionID, c.ClientAppID, c.Hub)
}

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// LogValue is String.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String names the session, without the tokens.
func (t Tokens) String() string {
	return fmt.Sprintf("tokens of session %s of %s", t.SessionID, t.ClientAppID)
}

// GoString is String.
func (t Tokens) GoString() string { return t.String() }

// LogValue is String.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(t.String()) }

package admin_test

import (
	"context"

	"bailing/shared/agentsession"
	"bailing/shared/registry"
)

// noSessions is a hub in which no agent ever logged in.
type noSessions struct{}

func (noSessions) List(context.Context, []string, agentsession.CentreQuery) (agentsession.CentrePage, error) {
	return agentsession.CentrePage{List: []agentsession.CentreItem{}}, nil
}

func (noSessions) Count(context.Context, []string) (map[string]agentsession.Counts, error) {
	return nil, nil
}

func (noSessions) Revoke(context.Context, string, registry.Change) (bool, error) { return false, nil }

package store

import (
	"context"
	"errors"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/registry"
)

var _ agentsession.CentreStore = (*agents)(nil)

// AgentCentre is the sessions of local agents as administrators see them.
func (s *Store) AgentCentre() agentsession.CentreStore { return &agents{s} }

// RevokeNoted is conditional on the session being there and not revoked. Asked for again after a lost answer, it is the same transaction,
// or finds the session revoked.
func (a *agents) RevokeNoted(ctx context.Context, id string, now time.Time, c registry.Change) (found, already bool, err error) {
	err = a.s.transact(ctx,
		update(a.table(), a.sessionRef(id).at(), "SET revoked_at = :now", "attribute_exists(pk) AND attribute_not_exists(revoked_at)", item{":now": millis(now)}),
		a.s.putChange(c))
	var failed *ConditionFailed
	switch {
	case errors.As(err, &failed) && failed.Failed[0] && failed.Items[0] == nil:
		return false, false, nil
	case errors.As(err, &failed) && failed.Failed[0]:
		return true, true, nil
	case err != nil:
		return false, false, err
	}
	return true, false, nil
}

package account_test

import (
	"testing"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
)

// Once there has been somebody in charge there always is, so the configured password never opens the hub again.
func TestADeletedBootstrapAdministratorStaysDeleted(t *testing.T) {
	t.Parallel()
	w := setup(t, bootstrap("root", "password of root"))
	w.enter("root")
	w.admin("alice")
	token := account.ServerToken()
	if err := w.Delete(t.Context(), token, "root", change); err != nil {
		t.Fatal(err)
	}
	tryRoot := func(what string) {
		t.Helper()
		_, err := w.try("root", "password of root", address)
		w.wantCode(what, err, apierr.Unauthorized)
		w.clock.Advance(account.FailureWindow)
	}
	tryRoot("after its deletion")
	w.wantCode("deleting the last one", w.Delete(t.Context(), token, "alice", change), apierr.Conflict)
	_, err := w.Save(t.Context(), token, accounttest.Body(members{"username": "alice", "role": "viewer"}), change)
	w.wantCode("demoting the last one", err, apierr.Conflict)
	_, err = w.Save(t.Context(), token, accounttest.Body(members{"username": "alice", "role": "admin", "enabled": false}), change)
	w.wantCode("disabling the last one", err, apierr.Conflict)
	tryRoot("after all that")
	if list, err := w.List(t.Context()); err != nil || len(list) != 1 || list[0].Username != "alice" {
		t.Errorf("%+v, %v", list, err)
	}
}

// A failed first login of a stranger creates the account, and opens nothing.
func TestAFailedFirstLoginOpensNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, bootstrap("root", "password of root"))
	for range account.MaxFailures {
		_, err := w.try("ROOT", "wrong password", "192.0.2.66")
		w.wantCode("a stranger", err, apierr.Unauthorized)
	}
	_, err := w.try("root", "password of root", "192.0.2.66")
	w.wantCode("the sixth try", err, apierr.RateLimited)
	w.enter("root") // from elsewhere
	if n := len(w.store.Changes()); n != 1 {
		t.Errorf("%d audit records", n)
	}
}

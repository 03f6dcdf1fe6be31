package agentsession_test

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"bailing/shared/agentsession"
)

// rounds is how often each race is run: BAILING_AGENT_ROUNDS, or a few times.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BAILING_AGENT_ROUNDS")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_AGENT_ROUNDS=%q is no number of rounds", text)
	}
	return n
}

// race runs acts together and returns their errors.
func race(acts ...func() error) []error {
	errs := make([]error, len(acts))
	gate := make(chan struct{})
	var wg sync.WaitGroup
	for i, act := range acts {
		wg.Go(func() {
			<-gate
			errs[i] = act()
		})
	}
	close(gate)
	wg.Wait()
	return errs
}

// Of 32 refreshes with one token one is carried out; the others are reuses, so in the end the session is dead, whoever was first.
func TestOfParallelRefreshesOneWinsAndTheSessionDies(t *testing.T) {
	t.Parallel()
	w := open(t)
	const parallel = 32
	other := w.process() // half of them in a process that knows nothing of the token
	for round := range rounds(t) {
		first := w.login()
		answers := make([]agentsession.Tokens, parallel)
		var acts []func() error
		for i := range parallel {
			acts = append(acts, func() (err error) {
				s := w.Service
				if i%2 == 1 {
					s = other
				}
				answers[i], err = s.Token(t.Context(), refreshGrant(first.RefreshToken).value(t))
				return err
			})
		}
		var won []agentsession.Tokens
		for i, err := range race(acts...) {
			if err == nil {
				won = append(won, answers[i])
			} else {
				wantCode(t, "a loser", err, 400, "invalid_grant")
			}
		}
		if len(won) != 1 {
			t.Fatalf("round %d: %d winners", round, len(won))
		}
		if s := w.session(first.SessionID); s.RevokedAt.IsZero() || s.ReusedAt.IsZero() {
			t.Fatalf("round %d: %+v", round, s)
		}
		if w.works(won[0].AccessToken) || w.works(first.AccessToken) {
			t.Fatalf("round %d: a token works", round)
		}
		if a, b := w.state(first.RefreshToken), w.state(won[0].RefreshToken); a != agentsession.TokenReplayed || b != agentsession.TokenRevoked {
			t.Fatalf("round %d: the tokens are %s and %s", round, a, b)
		}
		_, err := w.refresh(t.Context(), won[0].RefreshToken)
		wantCode(t, "the winner's token", err, 400, "invalid_grant")
	}
}

// Whichever is first, no session outlives the revocation.
func TestAnExchangeBesideARevocationOfTheRequest(t *testing.T) {
	t.Parallel()
	w := open(t)
	client := w.own()
	exchanged := 0
	for round := range rounds(t) {
		code, id := w.approved(approval)
		var tokens agentsession.Tokens
		var revoked agentsession.AuthorizationRevoked
		errs := race(func() (err error) {
			tokens, err = w.Token(t.Context(), codeGrant(code).value(t))
			return err
		}, func() (err error) {
			revoked, err = w.RevokeAuthorization(t.Context(), client, id, parsed("{}"))
			return err
		})
		if errs[1] != nil || !revoked.Revoked {
			t.Fatalf("round %d: %+v, %v", round, revoked, errs[1])
		}
		a := w.authorization(id)
		if errs[0] != nil {
			wantCode(t, "the exchange that lost", errs[0], 400, "invalid_grant")
			if a.Status != agentsession.Revoked || a.SessionID != "" || a.CodeHash != "" || revoked.SessionID != "" {
				t.Fatalf("round %d: %+v, %+v", round, a, revoked)
			}
			continue
		}
		exchanged++
		if a.Status != agentsession.Consumed || revoked.SessionID != tokens.SessionID || w.session(tokens.SessionID).RevokedAt.IsZero() || w.works(tokens.AccessToken) {
			t.Fatalf("round %d: %+v, %+v", round, a, revoked)
		}
	}
	t.Logf("the exchange was first %d times", exchanged)
}

// Of two uses of one code one is carried out, and its session lives.
func TestTwoExchangesOfOneCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	for round := range rounds(t) {
		code, id := w.approved(approval)
		answers := make([]agentsession.Tokens, 2)
		exchange := func(i int) func() error {
			return func() (err error) {
				answers[i], err = w.Token(t.Context(), codeGrant(code).value(t))
				return err
			}
		}
		errs := race(exchange(0), exchange(1))
		won := 0
		if errs[0] != nil {
			won = 1
		}
		wantCode(t, "the loser", errs[1-won], 400, "invalid_grant")
		if errs[won] != nil || w.authorization(id).SessionID != answers[won].SessionID || !w.works(answers[won].AccessToken) {
			t.Fatalf("round %d: %v", round, errs)
		}
	}
}

// decisions races two decisions about a request; exactly one is carried out, and it is the one that is stored.
func decisions(t *testing.T, w *world, first, second func(id string) (agentsession.Redirect, error), check func(id string, won int, r agentsession.Redirect)) {
	t.Helper()
	for round := range rounds(t) {
		id := w.asked(request)
		redirects := make([]agentsession.Redirect, 2)
		errs := race(func() (err error) {
			redirects[0], err = first(id)
			return err
		}, func() (err error) {
			redirects[1], err = second(id)
			return err
		})
		won := 0
		if errs[0] != nil {
			won = 1
		}
		wantCode(t, "the loser", errs[1-won], 409, "invalid_state")
		if errs[won] != nil {
			t.Fatalf("round %d: %v", round, errs)
		}
		check(id, won, redirects[won])
	}
}

func TestTwoApprovals(t *testing.T) {
	t.Parallel()
	w := open(t)
	client := w.own()
	approve := func(behalf string) func(id string) (agentsession.Redirect, error) {
		return func(id string) (agentsession.Redirect, error) {
			return w.Approve(t.Context(), client, id, approval.with("on_behalf_of", behalf).value(t))
		}
	}
	decisions(t, w, approve("zero"), approve("one"), func(id string, won int, r agentsession.Redirect) {
		tokens, err := w.Token(t.Context(), codeGrant(w.codeOf(r)).value(t))
		must(t, err)
		if got := w.session(tokens.SessionID).OnBehalfOf; got != []string{"zero", "one"}[won] {
			t.Errorf("approval %d won, and the session is on behalf of %s", won, got)
		}
	})
}

func TestAnApprovalBesideADenial(t *testing.T) {
	t.Parallel()
	w := open(t)
	client := w.own()
	decisions(t, w, func(id string) (agentsession.Redirect, error) {
		return w.Approve(t.Context(), client, id, approval.value(t))
	}, func(id string) (agentsession.Redirect, error) {
		return w.Deny(t.Context(), client, id, parsed("{}"))
	}, func(id string, won int, r agentsession.Redirect) {
		a := w.authorization(id)
		if a.Status != []agentsession.Status{agentsession.Approved, agentsession.Denied}[won] || (a.CodeHash == "") != (won == 1) || (w.codeOf(r) == "") != (won == 1) {
			t.Errorf("decision %d won: %+v, %+v", won, a, r)
		}
	})
}

// Whichever is first, the session is revoked in the end, and no token of it works.
func TestARefreshBesideARevocation(t *testing.T) {
	t.Parallel()
	w := open(t)
	client := w.own()
	refreshed := 0
	for round := range rounds(t) {
		first := w.login()
		var next agentsession.Tokens
		errs := race(func() (err error) {
			next, err = w.refresh(t.Context(), first.RefreshToken)
			return err
		}, func() error { return w.RevokeSession(t.Context(), client, first.SessionID) })
		if errs[1] != nil {
			t.Fatalf("round %d: %v", round, errs[1])
		}
		newest := first
		if errs[0] == nil {
			refreshed++
			newest = next
		} else {
			wantCode(t, "the refresh that lost", errs[0], 400, "invalid_grant")
		}
		if s := w.session(first.SessionID); s.RevokedAt.IsZero() || w.works(first.AccessToken) || w.works(newest.AccessToken) {
			t.Fatalf("round %d: %+v", round, s)
		}
		_, err := w.refresh(t.Context(), newest.RefreshToken)
		wantCode(t, "a refresh afterwards", err, 400, "invalid_grant")
	}
	t.Logf("the refresh was first %d times", refreshed)
}

// The limit of Create holds under contention: exactly ten of many get through.
func TestManyRequestsOfOneAddressAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	var acts []func() error
	for range 25 {
		acts = append(acts, func() error {
			_, err := w.Create(t.Context(), request.value(t), home)
			return err
		})
	}
	through := 0
	for _, err := range race(acts...) {
		if err == nil {
			through++
		} else {
			wantCode(t, "one too many", err, 429, "rate_limited")
		}
	}
	if through != 10 {
		t.Errorf("%d got through, want 10", through)
	}
}

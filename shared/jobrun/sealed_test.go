package jobrun_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
)

const canary = "4012-8888-8888-1881"

func card(number string) jobtest.Wish {
	return jobtest.Wish{Tool: "card_check", Args: fmt.Sprintf(`{"number":%q}`, number)}
}

// wantSealed checks that the stored rounds do not show the canary.
func (b *bench) wantSealed() {
	b.t.Helper()
	rounds := b.rounds()
	text, err := json.Marshal(rounds)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(rounds) == 0 || rounds[0].Sealed == "" || strings.Contains(string(text), canary) {
		b.t.Errorf("%d rounds, stored in clear: %.200s", len(rounds), text)
	}
}

func TestSensitiveArgumentsAreStoredSealed(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.answered(jobtest.Call(card(canary)), jobtest.Say("Done."))
	b.wantSealed()
}

// Arguments may have 1 MiB (core §5.2), sensitive ones too.
func TestLargestSensitiveArgumentsReachTheBusiness(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	number := canary + strings.Repeat("1", 1<<20-len(`{"number":""}`)-len(canary))
	b.answered(jobtest.Call(card(number)), jobtest.Say("Done."))
	b.wantSealed()
	if sent := b.Business.Sent(); len(sent) != 1 || !strings.Contains(string(sent[0].Body), number) {
		t.Errorf("%d requests sent", len(sent))
	}
}

// A model may call a tool that it saw before and that is gone now. Whether it is sensitive cannot be told any more.
func TestCallsOfUnknownToolsAreStoredSealed(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	p := jobtest.ShopProvider()
	p.Enabled = false
	b.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
	b.answered(jobtest.Call(card(canary)), jobtest.Say("It is not available."))
	b.wantSealed()
}

func TestSealedRoundThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	j := b.run(jobtest.Call(card(strings.Repeat("1", 16<<20))))
	if j.Status != job.Failed || j.Recoveries != 0 || !strings.Contains(j.Error, "larger than") {
		t.Errorf("%s after %d recoveries: %s", j.Status, j.Recoveries, j.Error)
	}
}

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

// Saved rounds of a job are items below its partition: "round#0001" holds the model's answer, "round#0001#call#000" the
// outcome of one of its calls. A sort-key query returns each round before its calls. Each names the claim under which it was
// saved: what was saved under a claim up to the "since_claim" of the job's row belongs to a run before the last rerun (rerun.go).

var (
	_ jobrun.Store   = (*Store)(nil)
	_ toolcall.Store = (*Store)(nil)
)

const roundPrefix = "round#"

func roundSK(n int) string           { return fmt.Sprintf(roundPrefix+"%04d", n) }
func callSK(round, index int) string { return fmt.Sprintf("%s#call#%03d", roundSK(round), index) }

// LoadRounds returns the rounds of a job in order, each with the outcomes of its calls; after a rerun only those since then.
// One trip per megabyte: the range begins with the job's row, which says where the rounds begin, and passes its outbox.
func (s *Store) LoadRounds(ctx context.Context, jobID string) ([]jobrun.Round, error) {
	var rounds []jobrun.Round
	earlier := int64(-1)
	err := s.query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :job AND :end"),
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID)), ":job": str(skJob), ":end": str(roundPrefix + "~")},
	}, func(it item) error {
		switch sk := getStr(it, "sk"); {
		case sk == skJob && it["since_claim"] != nil:
			earlier = getNum(it, "since_claim")
			return nil
		case !strings.HasPrefix(sk, roundPrefix), getNum(it, "claim") <= earlier:
			return nil
		}
		doc, err := s.getLarge(ctx, it, "doc")
		if err != nil {
			return err
		}
		if !strings.Contains(getStr(it, "sk"), "#call#") {
			r := jobrun.Round{Calls: map[int]toolcall.Record{}}
			if err := json.Unmarshal(doc, &r); err != nil {
				return fmt.Errorf("store: round: %w", err)
			}
			rounds = append(rounds, r)
			return nil
		}
		var rec toolcall.Record
		if err := json.Unmarshal(doc, &rec); err != nil {
			return fmt.Errorf("store: call: %w", err)
		}
		if len(rounds) == 0 || rounds[len(rounds)-1].Number != rec.Round {
			return fmt.Errorf("store: job %s has a call without its round %d", jobID, rec.Round)
		}
		rounds[len(rounds)-1].Calls[rec.Index] = rec
		return nil
	})
	return rounds, err
}

// SaveRound is one transaction: {fence, round, audit record}.
func (s *Store) SaveRound(ctx context.Context, f job.Fence, r jobrun.Round, ev job.Event) error {
	doc, err := plainjson.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: round: %w", err)
	}
	return s.saveStep(ctx, f, roundSK(r.Number), doc, ev)
}

// CompleteCall is one transaction: {fence, call, audit record}.
func (s *Store) CompleteCall(ctx context.Context, f job.Fence, rec toolcall.Record, ev job.Event) error {
	doc, err := plainjson.Marshal(rec)
	if err != nil {
		return fmt.Errorf("store: call: %w", err)
	}
	return s.saveStep(ctx, f, callSK(rec.Round, rec.Index), doc, ev)
}

// stepItem starts the item of a round or of a call's outcome.
func stepItem(f job.Fence, sk string) item {
	it := newItem(jobPK(f.JobID), sk)
	it["claim"] = num(f.Claim)
	return it
}

// saveStep stores one step of a run. Storing it twice under the same fence is harmless.
func (s *Store) saveStep(ctx context.Context, f job.Fence, sk string, doc []byte, ev job.Event) error {
	it := stepItem(f, sk)
	if err := s.setLarge(ctx, it, "doc", doc); err != nil {
		return err
	}
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	return s.fencedWrite(ctx, f, put(s.jobs(), it, "", nil, nil), audit)
}

// BeginCall is one transaction: {fence, use of the ticket, audit record}.
func (s *Store) BeginCall(ctx context.Context, f job.Fence, use *approval.Use, ev job.Event) error {
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	if use == nil {
		return s.fencedWrite(ctx, f, audit)
	}
	err = s.transact(ctx, append(s.useTicket(*use), s.dropMark(f, use.Due), audit)...)
	var failed *ConditionFailed
	switch {
	case !errors.As(err, &failed):
		return err
	case failed.Failed[2]:
		return job.ErrLostClaim
	}
	return toolcall.ErrTicketMoved
}

// DropDue is one transaction: {job under the fence without the mark, call, audit record}.
func (s *Store) DropDue(ctx context.Context, f job.Fence, due job.DueTicket, rec toolcall.Record, ev job.Event) error {
	doc, err := plainjson.Marshal(rec)
	if err != nil {
		return fmt.Errorf("store: call: %w", err)
	}
	it := stepItem(f, callSK(rec.Round, rec.Index))
	if err := s.setLarge(ctx, it, "doc", doc); err != nil {
		return err
	}
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	err = s.transact(ctx, s.dropMark(f, due.Mark()), put(s.jobs(), it, "", nil, nil), audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return job.ErrLostClaim
	}
	return err
}

// dropMark takes a due mark from a job under the fence. A mark that is not there is no failure.
func (s *Store) dropMark(f job.Fence, mark string) types.TransactWriteItem {
	a := update(s.jobs(), key(jobPK(f.JobID), skJob), "DELETE #due :due", fenced, fenceValues(f, item{":due": set(mark)}))
	a.Update.ExpressionAttributeNames = map[string]string{"#state": "state", "#due": "due"}
	return a
}

// fencedWrite runs actions if the worker still holds the job.
func (s *Store) fencedWrite(ctx context.Context, f job.Fence, actions ...types.TransactWriteItem) error {
	err := s.transact(ctx, append([]types.TransactWriteItem{s.fenceCheck(f)}, actions...)...)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return job.ErrLostClaim
	}
	return err
}

// ReadRun reads the configuration of a run: one trip, and one more for the providers of the route.
func (s *Store) ReadRun(ctx context.Context, routeKey, credential string) (jobrun.Config, error) {
	items, err := s.batchGet(ctx, s.pauseRef(), s.recordRef(kindRoute, routeKey), s.recordRef(kindCredential, credential))
	if err != nil {
		return jobrun.Config{}, err
	}
	if err := s.resolveDocs(ctx, items[1], items[2]); err != nil {
		return jobrun.Config{}, err
	}
	c := jobrun.Config{Paused: isPaused(items[0]), Providers: map[string]*registry.Provider{}}
	route, err := decodeRecord[registry.Route](items[1])
	if err != nil {
		return c, err
	}
	cred, err := decodeRecord[registry.Credential](items[2])
	if err != nil {
		return c, err
	}
	if cred != nil {
		c.Credential = &cred.Value
	}
	if route == nil {
		return c, nil
	}
	c.Route = &route.Value
	if c.Route.Tools == nil {
		return c, nil
	}
	refs := make([]ref, len(c.Route.Tools.Sources))
	for i, source := range c.Route.Tools.Sources {
		refs[i] = s.recordRef(kindProvider, source.Provider)
	}
	if items, err = s.batchGet(ctx, refs...); err != nil {
		return c, err
	}
	if err := s.resolveDocs(ctx, items...); err != nil {
		return c, err
	}
	for i, source := range c.Route.Tools.Sources {
		p, err := decodeRecord[registry.Provider](items[i])
		if err != nil {
			return c, err
		}
		if p != nil {
			c.Providers[source.Provider] = &p.Value
		}
	}
	return c, nil
}

// ReadCall reads everything that decides a governed call: one trip.
func (s *Store) ReadCall(ctx context.Context, k toolcall.Keys) (toolcall.View, error) {
	tool, provider := toolLimit(k.Provider, k.Tool), providerLimit(k.Provider)
	refs := []ref{
		s.pauseRef(), s.recordRef(kindRoute, k.Route), s.recordRef(kindProvider, k.Provider),
		s.limitRef(tool), s.limitRef(provider), s.entryRef(k.JobID, k.Tool, k.ArgsHash), s.lookupRef(k.JobID, k.Tool, k.ArgsHash),
	}
	if k.Owner != "" {
		refs = append(refs, s.recordRef(kindClient, k.Owner))
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return toolcall.View{}, err
	}
	if err := s.resolveDocs(ctx, items...); err != nil {
		return toolcall.View{}, err
	}
	v := toolcall.View{Paused: isPaused(items[0]), Ticket: decodeLookup(items[6])}
	var errs [6]error
	v.Route, errs[0] = current[registry.Route](items[1])
	v.Provider, errs[1] = current[registry.Provider](items[2])
	v.ToolLimit, errs[2] = decodeLimit(tool, items[3])
	v.ProviderLimit, errs[3] = decodeLimit(provider, items[4])
	v.Entry, errs[4] = decodeEntry(items[5])
	if k.Owner != "" {
		v.Client, errs[5] = current[registry.Client](items[7])
	}
	return v, errors.Join(errs[:]...)
}

// current is the value of a record, nil when there is none.
func current[T any](it item) (*T, error) {
	v, err := decodeRecord[T](it)
	if v == nil || err != nil {
		return nil, err
	}
	return &v.Value, nil
}

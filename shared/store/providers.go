package store

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/chance"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
)

// providers is the rows of tool providers. What the hub finds out about one is audited below its own key of the ledger:
//
//	provider#<name> / <ISO time>#<random>    doc or doc_ref
type providers struct{ records[registry.Provider] }

// Observe writes the record and the audit records in one transaction.
func (p *providers) Observe(ctx context.Context, v registry.Versioned[registry.Provider], c *registry.Change, events ...registry.Event) error {
	record, err := p.action(ctx, v.Value.Name, v)
	if err != nil {
		return err
	}
	audit, err := p.audit(ctx, v.Value.Name, c, events)
	if err != nil {
		return err
	}
	return stale(p.s.transact(ctx, append(audit, record)...))
}

// Note writes the audit records in one transaction.
func (p *providers) Note(ctx context.Context, name string, c *registry.Change, events ...registry.Event) error {
	audit, err := p.audit(ctx, name, c, events)
	if err != nil {
		return err
	}
	return p.s.transact(ctx, audit...)
}

func (p *providers) audit(ctx context.Context, name string, c *registry.Change, events []registry.Event) ([]types.TransactWriteItem, error) {
	var actions []types.TransactWriteItem
	if c != nil {
		actions = append(actions, p.s.putChange(*c))
	}
	for _, ev := range events {
		detail := map[string]any{"by": ev.By}
		maps.Copy(detail, ev.Detail)
		doc, err := plainjson.Marshal(eventRecord{
			TS: job.Timestamp(ev.At), JobID: "-", Event: ev.Name, Stage: "config", Severity: ev.Severity,
			Title: name, Summary: ev.Summary, Detail: detail,
		})
		if err != nil {
			return nil, fmt.Errorf("store: audit record: %w", err)
		}
		it := p.s.auditItem(kindProvider+"#"+name, fmt.Sprintf("%s#%016x", ev.At.UTC().Format(changeTime), chance.Uint64()), ev.At)
		if err := p.s.setAudit(ctx, it, doc); err != nil {
			return nil, err
		}
		actions = append(actions, put(p.s.ledger(), it, "", nil, nil))
	}
	return actions, nil
}

package store_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/registry"
	"bailing/shared/store"
	"bailing/shared/topology"
)

// inner is a DynamoDB client that notes what is inside transactions: to run one needs the permissions of its parts.
type inner struct {
	store.DynamoDB
	mu   sync.Mutex
	need map[string][]string // actions by table
}

func (i *inner) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	i.mu.Lock()
	for _, part := range in.TransactItems {
		table, action := partOf(part)
		i.need[table] = append(i.need[table], action)
	}
	i.mu.Unlock()
	return i.DynamoDB.TransactWriteItems(ctx, in, o...)
}

func partOf(part types.TransactWriteItem) (table, action string) {
	switch {
	case part.Put != nil:
		table, action = *part.Put.TableName, "dynamodb:PutItem"
	case part.Update != nil:
		table, action = *part.Update.TableName, "dynamodb:UpdateItem"
	case part.Delete != nil:
		table, action = *part.Delete.TableName, "dynamodb:DeleteItem"
	default:
		table, action = *part.ConditionCheck.TableName, "dynamodb:ConditionCheckItem"
	}
	return strings.TrimPrefix(table, prefix), action
}

// writers are the functions and the writes that each of them makes, by the beginning of their names.
var writers = map[string][]string{
	"runs":           {"CreateJob", "AddEvent", "WriteBucket"},
	"agentauth":      {"agents: "},
	"approvals":      {"DecideTicket", "ExpireTicket", "SettleTicket"},
	"approvalwait":   {"HoldTicket", "ExpireTicket"},
	"jobworker":      {"ClaimJob", "ReleaseJob", "FinishJob", "SaveRound", "BeginCall", "CompleteCall", "Reserve", "CompleteReserved", "MarkUncertain", "OpenTicket", "AddEvent", "WriteBucket"},
	"callbackworker": {"ClaimOutbox", "SaveAttempt"},
	"sweeper":        {"ReleaseJob", "FinishJob", "ExpireJob", "PostponeJob", "PostponeOutbox"},
	"refresher":      {"observe"},
	"admin":          {"registry", "observe", "ClaimOutbox", "SaveAttempt", "RequeueOutbox", "ResolveOutbox", "RequeueJob", "CloseCall"},
}

func configure(ctx context.Context, s *stand) (any, error) {
	client := registry.Versioned[registry.Client]{Value: registry.Client{AppID: "a", TokenHash: "1"}}
	if err := s.Clients().Put(ctx, client, "", registry.Change{}); err != nil {
		return nil, err
	}
	stored, err := s.Clients().Get(ctx, "a")
	if err != nil {
		return nil, err
	}
	client.Revision, client.Value.TokenHash = stored.Revision, "2"
	if err := s.Clients().Put(ctx, client, "1", registry.Change{}); err != nil {
		return nil, err
	}
	client.Revision++
	if err := s.Clients().Delete(ctx, client, registry.Change{}); err != nil {
		return nil, err
	}
	if err := s.Targets().Put(ctx, "t", registry.Versioned[registry.Target]{}, registry.Change{}); err != nil {
		return nil, err
	}
	refs := []registry.Reference{{Kind: registry.KindTarget, Name: "t"}}
	route := registry.Versioned[registry.Route]{Value: registry.Route{RouteKey: "r"}}
	if err := s.Routes().PutReferring(ctx, route, refs, registry.Change{}); err != nil {
		return nil, err
	}
	return nil, s.SetPaused(ctx, false, registry.Change{})
}

func observe(ctx context.Context, s *stand) (any, error) {
	v := registry.Versioned[registry.Provider]{Value: registry.Provider{Name: "shop"}}
	event := registry.Event{Name: "spec_refreshed"}
	if err := s.Providers().Observe(ctx, v, &registry.Change{}, event); err != nil {
		return nil, err
	}
	stored, err := s.Providers().Get(ctx, "shop")
	if err != nil {
		return nil, err
	}
	v.Revision = stored.Revision
	if err := s.Providers().Observe(ctx, v, nil, event); err != nil {
		return nil, err
	}
	return nil, s.Providers().Note(ctx, "shop", &registry.Change{}, event)
}

func TestEveryPartOfATransactionIsGranted(t *testing.T) {
	t.Parallel()
	for name, methods := range writers {
		i := &inner{need: map[string][]string{}}
		for _, m := range append(slices.Concat(writes(), outboxWrites(), runsWrites(), ticketWrites(), agentWrites()), method{name: "registry", arrange: nothing, act: configure}, method{name: "observe", arrange: nothing, act: observe}) {
			if !slices.ContainsFunc(methods, func(prefix string) bool { return strings.HasPrefix(m.name, prefix) }) {
				continue
			}
			s := open(t)
			m.arrange(s, t)
			i.DynamoDB = s.backend.DB
			values := &store.S3Values{Client: s.backend.S3, Bucket: s.backend.Bucket}
			s.Store = store.New(store.Options{DB: i, Values: values, Prefix: prefix, Clock: s.backend.Clock})
			if _, err := m.act(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
		}
		f, ok := topology.System().FunctionNamed(name)
		if !ok || len(i.need) == 0 {
			t.Errorf("%s: known %v, %d tables written", name, ok, len(i.need))
		}
		for table, actions := range i.need {
			for _, action := range actions {
				if !slices.ContainsFunc(f.Grants, func(g topology.Grant) bool {
					return g.Kind == topology.OnTable && g.Name == table && slices.Contains(g.Actions, action)
				}) {
					t.Errorf("%s needs %s on %s for a transaction", name, action, table)
				}
			}
		}
	}
}

// asker notes the calls outside transactions, too.
type asker struct{ *inner }

func (a asker) note(action string, tables ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, table := range tables {
		table = strings.TrimPrefix(table, prefix)
		a.need[table] = append(a.need[table], "dynamodb:"+action)
	}
}

func (a asker) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	a.note("BatchGetItem", slices.Collect(maps.Keys(in.RequestItems))...)
	return a.inner.BatchGetItem(ctx, in, o...)
}

func (a asker) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	a.note("GetItem", *in.TableName)
	return a.inner.GetItem(ctx, in, o...)
}

func (a asker) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	a.note("PutItem", *in.TableName)
	return a.inner.PutItem(ctx, in, o...)
}

func (a asker) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	a.note("Query", *in.TableName)
	return a.inner.Query(ctx, in, o...)
}

func (a asker) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	a.note("UpdateItem", *in.TableName)
	return a.inner.UpdateItem(ctx, in, o...)
}

// The functions that decide and hold approvals may do on the tables what they do, and nothing more: these are all their calls.
func TestTheFunctionsOfApprovalsAreGrantedNoMore(t *testing.T) {
	t.Parallel()
	pending := ticketOf(7, "h")
	for name, calls := range map[string]func(ctx context.Context, s *stand) []error{
		"approvalwait": func(ctx context.Context, s *stand) []error {
			_, notified := s.ReadTicket(ctx, 7)
			_, route := s.Routes().Get(ctx, "r")
			_, client := s.Clients().Get(ctx, "a")
			told := s.AddEvent(ctx, "j", eventOf("told"))
			_, held := s.HoldTicket(ctx, 7, "token", start)
			_, read := s.ReadTicketRow(ctx, 7)
			return []error{notified, route, client, told, held, read, s.ExpireTicket(ctx, &pending, start.Add(time.Hour), eventOf("expired"))}
		},
		"approvals": func(ctx context.Context, s *stand) []error {
			_, read := s.ReadTicketRow(ctx, 7)
			_, arguments := s.ReadTicket(ctx, 7)
			_, token := s.Token(ctx, "1")
			_, client := s.Clients().Get(ctx, "a")
			return []error{read, arguments, token, client, rule(ctx, s, true), s.SettleTicket(ctx, 7, "token")}
		},
	} {
		s := open(t)
		aTicket(s, t)
		i := &inner{DynamoDB: s.backend.DB, need: map[string][]string{}}
		values := &store.S3Values{Client: s.backend.S3, Bucket: s.backend.Bucket}
		s.Store = store.New(store.Options{DB: asker{i}, Values: values, Prefix: prefix, Clock: s.backend.Clock})
		if err := errors.Join(calls(t.Context(), s)...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, _ := topology.System().FunctionNamed(name)
		for _, g := range f.Grants {
			for _, action := range g.Actions {
				if g.Kind == topology.OnTable && !slices.Contains(i.need[g.Name], action) {
					t.Errorf("%s is granted %s on %s for nothing", name, action, g.Name)
				}
			}
		}
	}
}

package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

// without takes attributes from a row of the jobs table, past the store.
func (s *stand) without(t *testing.T, pk, sk string, names ...string) {
	t.Helper()
	as := map[string]string{}
	var list []string
	for i, name := range names {
		as[fmt.Sprint("#n", i)] = name
		list = append(list, fmt.Sprint("#n", i))
	}
	_, err := dynamodb.NewFromConfig(s.config).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String(prefix + topology.TableJobs),
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}},
		UpdateExpression: aws.String("REMOVE " + strings.Join(list, ", ")), ExpressionAttributeNames: as, ConditionExpression: aws.String("attribute_exists(pk)"),
	})
	arranged(t, err)
}

// outOfDate makes ticket and lookup what the release before decisions wrote.
func (s *stand) outOfDate(t *testing.T, ticket *approval.Ticket) {
	t.Helper()
	s.without(t, fmt.Sprintf("ticket#%d", ticket.ID), "ticket", "request", "route", "scope", "method", "path", "risk", "policy", "reason", "bind", "bytes",
		"claim", "round", "index", "subject", "summary", "tpk", "tsk", "xpk", "xsk", "dpk", "dsk")
	s.without(t, "job#"+ticket.JobID, "ticket#"+ticket.Tool+"#"+ticket.ArgsHash, "hash", "bind", "claim")
}

// A ticket from before decisions says nothing of what it is bound to. It can be decided, and its call is refused: nobody can tell
// whether the tool is still the one that was asked about.
func TestTicketsOfTheReleaseBeforeAreDecidedAndNotUsed(t *testing.T) {
	t.Parallel()
	d := openDesk(t, "unlimited")
	out, _ := d.call(t, toolcall.Call{Round: 1, Tool: "asking_write", Args: `{"n":1}`}, toolcall.Awaiting)
	ticket, err := d.ReadTicketRow(t.Context(), out.ApprovalID)
	arranged(t, err)
	d.outOfDate(t, ticket)
	if _, got := d.call(t, toolcall.Call{Round: 1, Tool: "asking_write", Args: `{"n":1}`}, toolcall.Awaiting); len(got) != 2 {
		t.Errorf("it is asked about anew: %v", got)
	}
	old, err := d.ReadTicket(t.Context(), ticket.ID)
	if err != nil || old.State != approval.Pending || len(old.Intent) == 0 || old.Tool != ticket.Tool || !old.ExpiresAt.Equal(ticket.ExpiresAt) {
		t.Fatalf("%+v, %v", old, err)
	}
	if held, err := d.HoldTicket(t.Context(), ticket.ID, "token", start); err != nil || !held {
		t.Errorf("%v, %v", held, err)
	}
	d.decide(t, ticket.ID, true)
	due := &toolcall.Due{DueTicket: job.DueTicket{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}, Provider: ticket.Provider}
	refused, _ := d.call(t, toolcall.Call{Round: 2, Tool: "asking_write", Args: `{"n":1}`, Due: due}, toolcall.NotDispatched)
	if refused.Reason != "approval_tool_changed" || refused.ApprovalID != ticket.ID {
		t.Errorf("%+v", refused)
	}
	if j, err := d.ReadState(t.Context(), "a"); err != nil || len(j.Due) != 0 || j.Open != nil {
		t.Errorf("%+v, %v", j, err)
	}
	if row, err := d.ReadTicketRow(t.Context(), ticket.ID); err != nil || row.State != approval.Approved || !row.UsedAt.IsZero() {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestTicketsOfTheReleaseBeforeExpire(t *testing.T) {
	t.Parallel()
	s := open(t)
	aTicketOfTheEnded(s, t)
	ticket := ticketOf(7, "h")
	s.outOfDate(t, &ticket)
	for _, state := range []approval.State{"", approval.Pending} { // no index has it; a list passes it over
		if page, err := s.ListTickets(t.Context(), state, 10, ""); err != nil || len(page.Tickets) != 0 {
			t.Errorf("%+v, %v", page, err)
		}
	}
	row, err := s.ReadTicketRow(t.Context(), 7)
	arranged(t, err)
	if late := start.Add(time.Hour); row.StateAt(late) != approval.Expired || row.Open(late) {
		t.Errorf("%+v is open after its deadline", row)
	}
	arranged(t, s.ExpireTicket(t.Context(), row, start.Add(time.Hour), eventOf("expired")))
	if row, err = s.ReadTicketRow(t.Context(), 7); err != nil || row.State != approval.Expired {
		t.Errorf("%+v, %v", row, err)
	}
}

// Jobs and threads from before decisions name no calls that are due, and nobody who does not count; neither do those that nobody approved
// anything of.
func TestJobsOfTheReleaseBeforeTakeApprovals(t *testing.T) {
	t.Parallel()
	s := open(t)
	aTicketOfTheEnded(s, t)
	s.without(t, "job#a", "job", "due", "cont", "since_claim")
	s.without(t, "thread#t", "thread", "extra")
	arranged(t, rule(t.Context(), s, true))
	_, thread, err := s.ReadThread(t.Context(), "llm", "t")
	arranged(t, err)
	if thread.Head != "a" || len(thread.Waiting) != 1 || thread.Waiting[0] != "b" || thread.InFlight() != 1 {
		t.Errorf("%+v", thread)
	}
	j, err := s.ReadJob(t.Context(), "a")
	if err != nil || j.Status != job.Queued || !j.Continued || len(j.Due) != 1 || j.SinceClaim != 0 {
		t.Errorf("%+v, %v", j, err)
	}
}

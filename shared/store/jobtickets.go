package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/approval"
)

// JobTickets reads the approval tickets of a job without what they froze, oldest first, at most limit of them, which is 100 or
// less: two trips.
func (s *Store) JobTickets(ctx context.Context, jobID string, limit int) ([]approval.Ticket, error) {
	page, err := s.db.Query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :prefix)"),
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID)), ":prefix": str(askedPrefix)},
	})
	if err != nil {
		return nil, fmt.Errorf("store: tickets of a job: %w", err)
	}
	refs := make([]ref, len(page.Items))
	for i, it := range page.Items {
		id, err := strconv.ParseInt(idOfTimeKey(strings.TrimPrefix(getStr(it, "sk"), askedPrefix)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("store: %s leads to no ticket", getStr(it, "sk"))
		}
		refs[i] = s.ticketRef(id)
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return nil, err
	}
	tickets := []approval.Ticket{}
	for _, it := range items {
		if it != nil {
			tickets = append(tickets, decodeTicket(it))
		}
	}
	slices.SortFunc(tickets, func(a, b approval.Ticket) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return tickets, nil
}

package dynamodb

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func putAction(item values, condition string) types.TransactWriteItem {
	p := &types.Put{TableName: aws.String(testTable), Item: item, ReturnValuesOnConditionCheckFailure: allOld}
	if condition != "" {
		p.ConditionExpression = aws.String(condition)
	}
	return types.TransactWriteItem{Put: p}
}

func addAction(key values, n int) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{TableName: aws.String(testTable), Key: key, UpdateExpression: aws.String("ADD n :n"), ExpressionAttributeValues: values{":n": num(n)}}}
}

func deleteAction(key values) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String(testTable), Key: key}}
}

func checkAction(key values, condition string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: aws.String(testTable), Key: key, ConditionExpression: aws.String(condition)}}
}

func (b *bundle) transact(token string, actions ...types.TransactWriteItem) error {
	in := &sdk.TransactWriteItemsInput{TransactItems: actions}
	if token != "" {
		in.ClientRequestToken = aws.String(token)
	}
	_, err := b.client.TransactWriteItems(b.ctx, in)
	return err
}

// reasons lists the codes of a cancelled transaction.
func reasons(t *testing.T, err error) string {
	t.Helper()
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		return "not cancelled: " + code(err)
	}
	var codes []string
	for _, r := range canceled.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		if (r.Message == nil) != (aws.ToString(r.Code) == "None") {
			t.Errorf("reason %s has the message %q", aws.ToString(r.Code), aws.ToString(r.Message))
		}
	}
	all := strings.Join(codes, ", ")
	if want := "Transaction cancelled, please refer cancellation reasons for specific reasons [" + all + "]"; canceled.ErrorMessage() != want {
		t.Errorf("message %q, want %q", canceled.ErrorMessage(), want)
	}
	return all
}

func TestATransactionHappensAsAWhole(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("t", "upd"), values{"n": num(1)}), keyOf("t", "del"), keyOf("t", "chk"))
	if err := b.transact("", putAction(keyOf("t", "put"), "attribute_not_exists(pk)"), addAction(keyOf("t", "upd"), 2), deleteAction(keyOf("t", "del")), checkAction(keyOf("t", "chk"), "attribute_exists(pk)")); err != nil {
		t.Fatal(err)
	}
	if b.get(t, keyOf("t", "put")) == nil || text(b.get(t, keyOf("t", "upd"))["n"]) != "3" || b.get(t, keyOf("t", "del")) != nil || b.get(t, keyOf("t", "chk")) == nil {
		t.Error("not all actions had their effect")
	}
}

func TestACancelledTransactionTellsEveryReasonInOrder(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	stored := with(keyOf("t", "1"), values{"n": num(7), "s": str("text")})
	b.put(t, stored)
	err := b.transact("", putAction(keyOf("t", "new"), ""), putAction(keyOf("t", "1"), "attribute_not_exists(pk)"), checkAction(keyOf("t", "2"), "attribute_exists(pk)"), addAction(keyOf("t", "3"), 1))
	if got := reasons(t, err); got != "None, ConditionalCheckFailed, ConditionalCheckFailed, None" {
		t.Errorf("reasons %s", got)
	}
	var canceled *types.TransactionCanceledException
	errors.As(err, &canceled)
	if got := canceled.CancellationReasons[1].Item; !reflect.DeepEqual(got, stored) {
		t.Errorf("the failed item is shown as %v, want %v", got, stored)
	}
	for _, i := range []int{0, 2, 3} {
		if got := canceled.CancellationReasons[i].Item; got != nil {
			t.Errorf("reason %d shows %v", i, got)
		}
	}
	if b.get(t, keyOf("t", "new")) != nil || b.get(t, keyOf("t", "3")) != nil {
		t.Error("a cancelled transaction had an effect")
	}
}

func TestActionsThatDoNotFitAreValidationErrors(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.put(t, with(keyOf("t", "1"), values{"n": str("text")}))
	huge := types.TransactWriteItem{Update: &types.Update{TableName: aws.String(testTable), Key: keyOf("t", "big"), UpdateExpression: aws.String("SET x = :x, y = :y"), ExpressionAttributeValues: values{":x": str(strings.Repeat("x", 300_000)), ":y": str(strings.Repeat("y", 300_000))}}}
	keyUpdate := types.TransactWriteItem{Update: &types.Update{TableName: aws.String(testTable), Key: keyOf("t", "2"), UpdateExpression: aws.String("SET sk = :x"), ExpressionAttributeValues: values{":x": str("x")}}}
	for name, c := range map[string]struct {
		actions []types.TransactWriteItem
		want    string
	}{
		"ADD to a string":              {[]types.TransactWriteItem{putAction(keyOf("t", "2"), ""), addAction(keyOf("t", "1"), 1)}, "None, ValidationError"},
		"beside a failed condition":    {[]types.TransactWriteItem{checkAction(keyOf("t", "2"), "attribute_exists(pk)"), addAction(keyOf("t", "1"), 1)}, "ConditionalCheckFailed, ValidationError"},
		"key of another type":          {[]types.TransactWriteItem{putAction(values{"pk": str("t"), "sk": num(1)}, ""), checkAction(keyOf("t", "2"), "attribute_exists(pk)")}, "ValidationError, None"},
		"index key of another type":    {[]types.TransactWriteItem{putAction(keyOf("t", "2"), ""), putAction(with(keyOf("t", "3"), values{"a": num(1)}), "")}, "None, ValidationError"},
		"update makes too big an item": {[]types.TransactWriteItem{huge}, "ValidationError"},
		"update of the key":            {[]types.TransactWriteItem{keyUpdate}, "ValidationError"},
	} {
		if got := reasons(t, b.transact("", c.actions...)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if b.get(t, keyOf("t", "2")) != nil {
		t.Error("a cancelled transaction had an effect")
	}
}

func TestTransactionsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	many := func(n int) (out []types.TransactWriteItem) {
		for i := range n {
			out = append(out, putAction(keyOf("many", fmt.Sprintf("%03d", i)), ""))
		}
		return out
	}
	// payload makes 16 puts of n bytes in all.
	payload := func(n int) (out []types.TransactWriteItem) {
		for i := range 16 {
			size := n / 16
			if i == 0 {
				size += n % 16
			}
			out = append(out, putAction(with(keyOf("p", fmt.Sprintf("%02d", i)), values{"z": str(strings.Repeat("z", size-8))}), ""))
		}
		return out
	}
	both := putAction(keyOf("t", "1"), "")
	both.Delete = deleteAction(keyOf("t", "2")).Delete
	cases := []struct {
		name    string
		actions []types.TransactWriteItem
		want    string
	}{
		{"100 actions", many(100), ""},
		{"101 actions", many(101), "ValidationException"},
		{"4 MB", payload(4 << 20), ""},
		{"4 MB and a byte", payload(4<<20 + 1), "ValidationException"},
		{"two actions on one item", []types.TransactWriteItem{putAction(keyOf("t", "1"), ""), addAction(keyOf("t", "1"), 1)}, "ValidationException"},
		{"a check and a write of one item", []types.TransactWriteItem{checkAction(keyOf("t", "1"), "attribute_exists(pk)"), deleteAction(keyOf("t", "1"))}, "ValidationException"},
		{"two kinds in one action", []types.TransactWriteItem{both}, "ValidationException"},
		{"no kind in an action", []types.TransactWriteItem{{}}, "ValidationException"},
		{"syntax error", []types.TransactWriteItem{putAction(keyOf("t", "1"), "nonsense !")}, "ValidationException"},
		{"reserved word", []types.TransactWriteItem{putAction(keyOf("t", "1"), "attribute_exists(status)")}, "ValidationException"},
		{"unknown table", []types.TransactWriteItem{{Delete: &types.Delete{TableName: aws.String("nope"), Key: keyOf("t", "1")}}}, "ResourceNotFoundException"},
	}
	for _, c := range cases {
		if got := code(b.transact("", c.actions...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for name, token := range map[string]string{"36 characters": strings.Repeat("t", 36), "37 characters": strings.Repeat("t", 37)} {
		want := map[bool]string{true: "ValidationException", false: ""}[len(token) > 36]
		if got := code(b.transact(token, addAction(keyOf("t", "9"), 1))); got != want {
			t.Errorf("token of %s: %q, want %q", name, got, want)
		}
	}
}

func TestATokenMakesATransactionIdempotentForTenMinutes(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	key := keyOf("t", "n")
	n := func() string { return text(b.get(t, key)["n"]) }
	for range 3 {
		if err := b.transact("token", addAction(key, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n() != "1" {
		t.Errorf("three times the same: n is %s, want 1", n())
	}
	if got := code(b.transact("token", addAction(key, 5))); got != "IdempotentParameterMismatchException" {
		t.Errorf("other content: %q", got)
	}
	if got := code(b.transact("token", addAction(key, 1), addAction(keyOf("t", "m"), 1))); got != "IdempotentParameterMismatchException" {
		t.Errorf("more content: %q", got)
	}
	b.clock.Advance(10*time.Minute - time.Second)
	if err := b.transact("token", addAction(key, 1)); err != nil || n() != "1" {
		t.Errorf("just before ten minutes: %v, n is %s, want 1", err, n())
	}
	b.clock.Advance(time.Second)
	if err := b.transact("token", addAction(key, 5)); err != nil || n() != "6" {
		t.Errorf("after ten minutes: %v, n is %s, want 6", err, n())
	}
}

func TestACancelledTransactionDoesNotUseUpItsToken(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	actions := []types.TransactWriteItem{checkAction(keyOf("t", "gate"), "attribute_exists(pk)"), addAction(keyOf("t", "n"), 1)}
	if got := reasons(t, b.transact("token", actions...)); got != "ConditionalCheckFailed, None" {
		t.Fatalf("reasons %s", got)
	}
	b.put(t, keyOf("t", "gate"))
	if err := b.transact("token", actions...); err != nil || text(b.get(t, keyOf("t", "n"))["n"]) != "1" {
		t.Errorf("second try: %v", err)
	}
}

func TestTokensAreForgotten(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	for i := range 50 {
		if err := b.transact(fmt.Sprint("token", i), addAction(keyOf("t", "n"), 1)); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(time.Minute)
	}
	// The last was made a minute ago; those of the ten minutes before it live.
	if got := len(b.service.state.tokens.entries); got != 10 {
		t.Errorf("%d tokens are remembered, want 10", got)
	}
	if got := len(b.service.state.tokens.order); got != 10 {
		t.Errorf("%d expiries are kept, want 10", got)
	}
}

func TestTransactGetItems(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	item := with(keyOf("t", "1"), values{"x": num(1), "y": num(2)})
	b.put(t, item)
	get := func(key values, projection *string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: aws.String(testTable), Key: key, ProjectionExpression: projection}}
	}
	out, err := b.client.TransactGetItems(b.ctx, &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get(keyOf("t", "none"), nil), get(keyOf("t", "1"), aws.String("y"))}})
	if err != nil || len(out.Responses) != 2 || out.Responses[0].Item != nil || !reflect.DeepEqual(out.Responses[1].Item, values{"y": num(2)}) {
		t.Errorf("got %+v, %v", out, err)
	}
	var many []types.TransactGetItem
	for i := range 101 {
		many = append(many, get(keyOf("t", fmt.Sprint(i)), nil))
	}
	for name, c := range map[string]struct {
		items []types.TransactGetItem
		want  string
	}{
		"100 items":        {many[:100], ""},
		"101 items":        {many, "ValidationException"},
		"one item twice":   {[]types.TransactGetItem{get(keyOf("t", "1"), nil), get(keyOf("t", "1"), nil)}, "ValidationException"},
		"unknown table":    {[]types.TransactGetItem{{Get: &types.Get{TableName: aws.String("nope"), Key: keyOf("t", "1")}}}, "ResourceNotFoundException"},
		"key that is none": {[]types.TransactGetItem{get(values{"pk": str("t")}, nil)}, "TransactionCanceledException"},
	} {
		if _, err := b.client.TransactGetItems(b.ctx, &sdk.TransactGetItemsInput{TransactItems: c.items}); code(err) != c.want {
			t.Errorf("%s: %q, want %q", name, code(err), c.want)
		}
	}
}

package dynamodb

import (
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestConditionalIncrementsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, journal := range map[string]Journal{"memory": nil, "journal": &memoryJournal{}} {
		b := setup(t, journal)
		b.createTable(t, testTable)
		key := keyOf("k", "1")
		b.put(t, with(key, values{"n": num(0)}))
		const workers, each = 8, 20
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for done := 0; done < each; {
					now := b.get(t, key)["n"]
					_, err := b.client.UpdateItem(b.ctx, &sdk.UpdateItemInput{TableName: aws.String(testTable), Key: key, UpdateExpression: aws.String("SET n = n + :one"), ConditionExpression: aws.String("n = :now"), ExpressionAttributeValues: values{":one": num(1), ":now": now}})
					switch code(err) {
					case "":
						done++
					case "ConditionalCheckFailedException":
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if got := text(b.get(t, key)["n"]); got != fmt.Sprint(workers*each) {
			t.Errorf("%s: n is %s, want %d", name, got, workers*each)
		}
	}
}

// TestReadersNeverSeeHalfATransaction keeps the sum of two accounts, and an index entry that moves with them.
func TestReadersNeverSeeHalfATransaction(t *testing.T) {
	t.Parallel()
	b := setup(t, &memoryJournal{})
	b.createTable(t, testTable)
	left, right := keyOf("acc", "left"), keyOf("acc", "right")
	b.put(t, with(left, values{"n": num(1000)}), with(right, values{"n": num(0)}))
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := b.transact("", addAction(left, -1), addAction(right, 1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	sum := func(items []values) (n int) {
		for _, item := range items {
			var v int
			fmt.Sscan(text(item["n"]), &v)
			n += v
		}
		return n
	}
	check := func(how string, read func() ([]values, error)) {
		readers.Go(func() {
			for range 60 {
				items, err := read()
				if err != nil || len(items) != 2 || sum(items) != 1000 {
					t.Errorf("%s saw %d items with the sum %d, %v", how, len(items), sum(items), err)
					return
				}
			}
		})
	}
	check("TransactGetItems", func() ([]values, error) {
		get := func(key values) types.TransactGetItem {
			return types.TransactGetItem{Get: &types.Get{TableName: aws.String(testTable), Key: key}}
		}
		out, err := b.client.TransactGetItems(b.ctx, &sdk.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get(left), get(right)}})
		if err != nil {
			return nil, err
		}
		return []values{out.Responses[0].Item, out.Responses[1].Item}, nil
	})
	check("Query", func() ([]values, error) {
		out, err := b.client.Query(b.ctx, &sdk.QueryInput{TableName: aws.String(testTable), KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": str("acc")}})
		if err != nil {
			return nil, err
		}
		return out.Items, nil
	})
	check("BatchGetItem", func() ([]values, error) {
		out, err := b.batchGet(types.KeysAndAttributes{Keys: []values{left, right}})
		if err != nil {
			return nil, err
		}
		return out.Responses[testTable], nil
	})
	readers.Wait()
	close(stop)
	writers.Wait()
}

// TestIdenticalTokensCommitOnceUnderConcurrency sends the same transaction many times at once.
func TestIdenticalTokensCommitOnceUnderConcurrency(t *testing.T) {
	t.Parallel()
	b := setup(t, &memoryJournal{})
	b.createTable(t, testTable)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if err := b.transact("token", addAction(keyOf("k", "n"), 1)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := text(b.get(t, keyOf("k", "n"))["n"]); got != "1" {
		t.Errorf("n is %s, want 1", got)
	}
}

func BenchmarkPutItem(b *testing.B) {
	bundle := setupTable(b)
	body := []byte(`{"TableName":"things","Item":{"pk":{"S":"k"},"sk":{"S":"1"},"v":{"N":"12"},"m":{"M":{"x":{"S":"text"}}}},"ConditionExpression":"attribute_not_exists(missing1) OR v > :v","ExpressionAttributeValues":{":v":{"N":"0"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bundle.service.run(b.Context(), "PutItem", "", body); err != nil {
			b.Fatal(err)
		}
	}
}

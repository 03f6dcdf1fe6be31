package dynamodb

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/awslocal/dynamodb/attr"
)

func TestWritesBesideANewIndexAreInIt(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 40 {
				key := keyOf(fmt.Sprint("p", w), fmt.Sprint(i%8))
				item := with(key, values{"late": str(fmt.Sprint(i % 3))})
				if i%5 == 4 {
					item = key
				}
				if err := b.tryPut(item); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		if err := b.addIndex(lateIndex("late")); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	if got, want := contents(t, restart(t, j.records)), contents(t, b.service); !reflect.DeepEqual(got, want) {
		t.Error("a restart makes another state")
	}
}

func TestOneOfManyCallsMakesAnIndex(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	codes := make([]string, 8)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() { codes[i] = code(b.addIndex(lateIndex("late"))) })
	}
	wg.Wait()
	slices.Sort(codes)
	if codes[0] != "" || codes[1] != "ValidationException" || codes[len(codes)-1] != "ValidationException" {
		t.Errorf("answers %q", codes)
	}
}

// lossyJournal stores a record and dies before it says so.
type lossyJournal struct {
	memoryJournal
	dead bool
}

func (j *lossyJournal) Append(rec []byte) error {
	if err := j.memoryJournal.Append(rec); err != nil || !j.dead {
		return err
	}
	return errors.New("died after the write")
}

func TestADeathBetweenRecordAndIndexLeavesTheIndex(t *testing.T) {
	t.Parallel()
	j := &lossyJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	b.put(t, with(keyOf("p", "1"), values{"late": str("x")}))
	j.dead = true
	if got := code(b.addIndex(lateIndex("late"))); got != "InternalServerError" {
		t.Errorf("the call that died: %q", got)
	}
	if b.service.state.tables[testTable].index("late") != nil {
		t.Error("the index is there before its record is known to be durable")
	}
	again := setup(t, nil)
	for _, rec := range j.records {
		if err := again.service.Replay(rec); err != nil {
			t.Fatal(err)
		}
	}
	if got := again.byIndex(t, "late", "x"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after the restart the index has %v", got)
	}
	before := contents(t, again.service)
	if err := again.service.Replay(j.records[len(j.records)-1]); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, again.service); !reflect.DeepEqual(got, before) {
		t.Error("the record, replayed twice, changes something")
	}
	if got := code(again.addIndex(lateIndex("late"))); got != "ValidationException" {
		t.Errorf("the index once more: %q", got)
	}
}

// A journal whose snapshot has the next table of the same name already replays the index of the earlier one over it.
func TestAnIndexOfADroppedTableIsNotTheNextOnes(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	if err := b.addIndex(lateIndex("late")); err != nil {
		t.Fatal(err)
	}
	b.put(t, with(keyOf("p", "1"), values{"late": str("x"), "more19": str("x")}))
	if _, err := b.client.DeleteTable(b.ctx, &sdk.DeleteTableInput{TableName: aws.String(testTable)}); err != nil {
		t.Fatal(err)
	}
	full := tableInput(testTable)
	for i := len(full.GlobalSecondaryIndexes); i < maxIndexes; i++ {
		ix := full.GlobalSecondaryIndexes[2]
		ix.IndexName = aws.String(fmt.Sprint("more", i))
		full.GlobalSecondaryIndexes = append(full.GlobalSecondaryIndexes, ix)
	}
	if _, err := b.client.CreateTable(b.ctx, full); err != nil {
		t.Fatal(err)
	}
	b.put(t, with(keyOf("p", "2"), values{"late": num(1)}))
	var snapshot [][]byte
	if err := b.service.Snapshot(func(rec []byte) error { snapshot = append(snapshot, rec); return nil }); err != nil {
		t.Fatal(err)
	}
	want := contents(t, b.service)
	for i := range j.records {
		if got := contents(t, restart(t, append(snapshot[:len(snapshot):len(snapshot)], j.records[i:]...))); !reflect.DeepEqual(got, want) {
			t.Errorf("the snapshot and the log from record %d make another state", i)
		}
	}
}

func TestASnapshotBesideANewIndexIsWhole(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.service.mu.RLock()
	before := b.service.state.dump()
	b.service.mu.RUnlock()
	if err := b.addIndex(lateIndex("late")); err != nil {
		t.Fatal(err)
	}
	if spec := before[0].(createTable).spec; len(spec.indexes) != 3 {
		t.Errorf("a dump from before has %d indexes", len(spec.indexes))
	}
	if got := decodedSpec(t, b.service); len(got.indexes) != 4 || got.indexes[3].key[0] != (keyAttribute{"late", attr.KindString}) {
		t.Errorf("a dump from afterwards has %+v", got.indexes)
	}
}

// decodedSpec is the test table of a snapshot.
func decodedSpec(t *testing.T, s *Service) tableSpec {
	t.Helper()
	var out tableSpec
	err := s.Snapshot(func(rec []byte) error {
		changes, err := decodeRecord(rec)
		if err == nil {
			out = changes[0].(createTable).spec
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/awslocal/dynamodb/attr"
)

func parseTestItem(text string) (attr.Map, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, err
	}
	return attr.ItemFromWire(v)
}

// contents shows everything that a service holds.
func contents(t testing.TB, s *Service) []string {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []string
	for _, c := range s.state.dump() {
		out = append(out, fmt.Sprintf("%x", c.encode(nil)))
	}
	for name, table := range s.state.tables {
		for _, ix := range table.indexes {
			for _, r := range ix.items.Ascend("", "") {
				if table.get(r.key) != r {
					t.Errorf("index %s of %s has an item that the table has not", ix.spec.name, name)
				}
			}
			n := 0
			for _, r := range table.items.Ascend("", "") {
				if ix.spec.holds(r.item) {
					n++
				}
			}
			if n != ix.items.Len() {
				t.Errorf("index %s of %s has %d items, of the table's %d belong there", ix.spec.name, name, ix.items.Len(), n)
			}
		}
	}
	return out
}

// restart replays records into a new service.
func restart(t testing.TB, records [][]byte) *Service {
	t.Helper()
	s := New(Options{})
	for i, rec := range records {
		if err := s.Replay(rec); err != nil {
			t.Fatalf("replay record %d: %v", i, err)
		}
	}
	return s
}

// busyService makes a state with something of everything, through a journal.
func busyService(t testing.TB) (*bundle, *memoryJournal) {
	t.Helper()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	b.createTable(t, "other")
	if err := b.setTTL(true, "exp"); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		b.put(t, with(keyOf("p", fmt.Sprint(i%10)), values{"v": num(i), "a": str("x"), "b": num(i % 3), "l": listOf(str("é"), num(i))}))
	}
	if _, err := b.client.DeleteItem(b.ctx, &sdk.DeleteItemInput{TableName: aws.String(testTable), Key: keyOf("p", "3")}); err != nil {
		t.Fatal(err)
	}
	// An index that comes late, after an item that it cannot hold.
	b.put(t, with(keyOf("p", "6"), values{"late": num(1)}), with(keyOf("p", "7"), values{"late": str("x")}))
	if err := b.addIndex(lateIndex("late")); err != nil {
		t.Fatal(err)
	}
	b.put(t, with(keyOf("p", "8"), values{"late": str("y")}), with(keyOf("p", "9"), values{"late": str("y")}), keyOf("p", "9"))
	if err := b.transact("token", addAction(keyOf("p", "n"), 1), deleteAction(keyOf("p", "4"))); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DeleteTable(b.ctx, &sdk.DeleteTableInput{TableName: aws.String("other")}); err != nil {
		t.Fatal(err)
	}
	return b, j
}

func TestReplayRebuildsTheState(t *testing.T) {
	t.Parallel()
	b, j := busyService(t)
	if got, want := contents(t, restart(t, j.records)), contents(t, b.service); !reflect.DeepEqual(got, want) {
		t.Errorf("after replay %d changes make the state, want %d", len(got), len(want))
	}
}

func TestSnapshotRebuildsTheState(t *testing.T) {
	t.Parallel()
	b, j := busyService(t)
	var snapshot [][]byte
	if err := b.service.Snapshot(func(rec []byte) error { snapshot = append(snapshot, rec); return nil }); err != nil {
		t.Fatal(err)
	}
	want := contents(t, b.service)
	if got := contents(t, restart(t, snapshot)); !reflect.DeepEqual(got, want) {
		t.Error("the snapshot makes another state")
	}
	// Every suffix of the log, replayed over the snapshot, must lead to the same state: compaction may start anywhere.
	for i := range j.records {
		if got := contents(t, restart(t, append(snapshot[:len(snapshot):len(snapshot)], j.records[i:]...))); !reflect.DeepEqual(got, want) {
			t.Errorf("the snapshot and the log from record %d make another state", i)
		}
	}
	broken := errors.New("disk full")
	if err := b.service.Snapshot(func([]byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of emit", err)
	}
}

func TestTokensSurviveARestart(t *testing.T) {
	t.Parallel()
	b, j := busyService(t)
	again := setup(t, nil)
	for _, rec := range j.records {
		if err := again.service.Replay(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.transact("token", addAction(keyOf("p", "n"), 1), deleteAction(keyOf("p", "4"))); err != nil {
		t.Fatal(err)
	}
	if got := text(again.get(t, keyOf("p", "n"))["n"]); got != "1" {
		t.Errorf("n is %s, want 1", got)
	}
	if got := code(again.transact("token", addAction(keyOf("p", "n"), 2))); got != "IdempotentParameterMismatchException" {
		t.Errorf("other content: %q", got)
	}
	_ = b
}

func TestNothingIsVisibleBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	b.put(t, with(keyOf("k", "1"), values{"v": num(1)}))
	j.gate, j.entered = make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() { done <- b.tryPut(with(keyOf("k", "1"), values{"v": num(2)})) }()
	<-j.entered
	if got := text(b.get(t, keyOf("k", "1"))["v"]); got != "1" {
		t.Errorf("while the append runs a reader sees v = %s, want 1", got)
	}
	var snapshot [][]byte
	if err := b.service.Snapshot(func(rec []byte) error { snapshot = append(snapshot, rec); return nil }); err != nil {
		t.Fatal(err)
	}
	r := restart(t, snapshot)
	if record, err := r.lookup(testTable, mustItem(t, `{"pk":{"S":"k"},"sk":{"S":"1"}}`)); err != nil || record.item["v"] != attr.NumberFromInt(2) {
		t.Errorf("the snapshot lacks the record that is being appended: %v, %v", record, err)
	}
	select {
	case err := <-done:
		t.Errorf("acknowledged before the append returned: %v", err)
	default:
	}
	close(j.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := text(b.get(t, keyOf("k", "1"))["v"]); got != "2" {
		t.Errorf("afterwards v = %s, want 2", got)
	}
}

func mustItem(t testing.TB, text string) attr.Map {
	t.Helper()
	item, err := parseTestItem(text)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

func TestWritersShareAppends(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	before := len(j.records)
	j.gate, j.entered = make(chan struct{}), make(chan struct{})
	table := b.service.state.tables[testTable]
	const writers = 100
	var wg sync.WaitGroup
	write := func(i int) {
		defer wg.Done()
		err := b.service.commit(func(v *view) error {
			v.put(table, attr.Map{"pk": attr.String("k"), "sk": attr.String(fmt.Sprint(i)), "n": attr.NumberFromInt(1)})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	wg.Add(1)
	go write(0)
	<-j.entered // the first write is alone in its record
	for i := 1; i < writers; i++ {
		wg.Add(1)
		go write(i)
	}
	for queued := 0; queued < writers-1; {
		b.service.commits.mu.Lock()
		queued = len(b.service.commits.queue)
		b.service.commits.mu.Unlock()
	}
	j.gate <- struct{}{}
	<-j.entered
	close(j.gate)
	wg.Wait()
	if got := len(j.records) - before; got != 2 {
		t.Errorf("%d writers made %d records, want 2", writers, got)
	}
	if got := table.items.Len(); got != writers {
		t.Errorf("%d items, want %d", got, writers)
	}
}

func TestAFailedJournalStopsWrites(t *testing.T) {
	t.Parallel()
	j := &memoryJournal{}
	b := setup(t, j)
	b.createTable(t, testTable)
	b.put(t, with(keyOf("k", "1"), values{"v": num(1)}))
	j.setFailure(errors.New("disk full"))
	if got := code(b.tryPut(with(keyOf("k", "1"), values{"v": num(2)}))); got != "InternalServerError" {
		t.Errorf("write with a full disk: %q", got)
	}
	j.setFailure(nil)
	if got := code(b.tryPut(with(keyOf("k", "1"), values{"v": num(3)}))); got != "InternalServerError" {
		t.Errorf("write after a failure: %q", got)
	}
	if got := text(b.get(t, keyOf("k", "1"))["v"]); got != "1" {
		t.Errorf("a reader sees v = %s, want 1", got)
	}
}

func TestDamagedRecordsAreRefused(t *testing.T) {
	t.Parallel()
	_, j := busyService(t)
	table := j.records[0]
	badItem := putItem{testTable, attr.Map{"pk": attr.String("k")}}.encode(newRecord())
	badKey := deleteItem{testTable, attr.Map{"pk": attr.NumberFromInt(1), "sk": attr.String("x")}}.encode(newRecord())
	for name, rec := range map[string][]byte{
		"empty":              {},
		"another version":    {99},
		"unknown tag":        {recordVersion, 99},
		"cut off":            table[:len(table)-3],
		"item without key":   badItem,
		"key of wrong type":  badKey,
		"index without keys": addIndex{testTable, indexSpec{name: "index", projection: projectAll}}.encode(newRecord()),
		"index of projection": addIndex{testTable, indexSpec{name: "index", projection: "SOME", key: keySchema{{"a", attr.KindString}}}}.
			encode(newRecord()),
		"table without keys": createTable{tableSpec{name: "table"}}.encode(newRecord()),
	} {
		s := restart(t, [][]byte{table})
		if err := s.Replay(rec); !errors.Is(err, ErrCorruptRecord) {
			t.Errorf("%s: %v, want ErrCorruptRecord", name, err)
		}
	}
}

func FuzzReplay(f *testing.F) {
	_, j := busyService(f)
	for _, rec := range j.records {
		f.Add(rec)
	}
	table := j.records[0]
	f.Fuzz(func(t *testing.T, rec []byte) {
		s := restart(t, [][]byte{table})
		if err := s.Replay(rec); err != nil && !errors.Is(err, ErrCorruptRecord) {
			t.Errorf("untyped error %v", err)
		}
	})
}

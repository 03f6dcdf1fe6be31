package ordered

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func collect(seq func(func(string, int) bool)) []string {
	var out []string
	for k := range seq {
		out = append(out, k)
	}
	return out
}

// TestMapAgreesWithAModel compares with a plain map that is sorted on demand, through growth, splits, joins and emptiness.
func TestMapAgreesWithAModel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var m Map[int]
	model := map[string]int{}
	for step := range 60_000 {
		key := fmt.Sprintf("%05d", r.IntN(5000))
		grow := step/10_000%2 == 0
		if r.IntN(10) < 3 == grow {
			_, want := model[key]
			if got := m.Delete(key); got != want {
				t.Fatalf("step %d: delete %s reported %v", step, key, got)
			}
			delete(model, key)
		} else {
			m.Set(key, step)
			model[key] = step
		}
		if step%997 == 0 {
			compare(t, &m, model, r)
		}
	}
	for key := range model {
		m.Delete(key)
	}
	compare(t, &m, nil, r)
}

func compare(t *testing.T, m *Map[int], model map[string]int, r *rand.Rand) {
	t.Helper()
	keys := slices.Sorted(maps.Keys(model))
	if m.Len() != len(keys) {
		t.Fatalf("length is %d, want %d", m.Len(), len(keys))
	}
	for _, k := range keys {
		if v, ok := m.Get(k); !ok || v != model[k] {
			t.Fatalf("get %s is %d, %v, want %d", k, v, ok, model[k])
		}
	}
	from, to := fmt.Sprintf("%05d", r.IntN(5000)), fmt.Sprintf("%05d", r.IntN(5000))
	for _, bounds := range [][2]string{{"", ""}, {from, ""}, {"", to}, {from, to}} {
		var want []string
		for _, k := range keys {
			if k >= bounds[0] && (bounds[1] == "" || k < bounds[1]) {
				want = append(want, k)
			}
		}
		if got := collect(m.Ascend(bounds[0], bounds[1])); !slices.Equal(got, want) {
			t.Fatalf("ascending %q has %d keys, want %d", bounds, len(got), len(want))
		}
		slices.Reverse(want)
		if got := collect(m.Descend(bounds[0], bounds[1])); !slices.Equal(got, want) {
			t.Fatalf("descending %q has %d keys, want %d", bounds, len(got), len(want))
		}
	}
}

func TestIterationStopsWhenAsked(t *testing.T) {
	t.Parallel()
	var m Map[int]
	for i := range 1000 {
		m.Set(fmt.Sprintf("%04d", i), i)
	}
	for name, seq := range map[string]func(func(string, int) bool){"up": m.Ascend("", ""), "down": m.Descend("", "")} {
		n := 0
		for range seq {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("%s: %d steps, want 3", name, n)
		}
	}
}

// TestDeletionsFreeBlocks is about memory: a queue-like use, inserts at the end and deletes at the front, must not keep blocks.
func TestDeletionsFreeBlocks(t *testing.T) {
	t.Parallel()
	var m Map[int]
	const window = 1000
	for i := range 100_000 {
		m.Set(fmt.Sprintf("%08d", i), i)
		if i >= window {
			m.Delete(fmt.Sprintf("%08d", i-window))
		}
	}
	if got := len(m.blocks); got > 2*window/maxBlock+8 {
		t.Errorf("%d entries lie in %d blocks", m.Len(), got)
	}
}

func BenchmarkSet(b *testing.B) {
	var m Map[int]
	r := rand.New(rand.NewPCG(5, 6))
	for b.Loop() {
		m.Set(fmt.Sprintf("%08d", r.IntN(1_000_000)), 1)
	}
}

package envelope

import "container/list"

// lru maps at most max keys to values and forgets the least recently used. It is not safe for concurrent use.
type lru[K comparable, V any] struct {
	max   int
	order *list.List // of item, most recent first
	items map[K]*list.Element
}

type item[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](max int) *lru[K, V] {
	return &lru[K, V]{max: max, order: list.New(), items: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	at, ok := l.items[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(at)
	return at.Value.(item[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	if at, ok := l.items[key]; ok {
		at.Value = item[K, V]{key, value}
		l.order.MoveToFront(at)
		return
	}
	l.items[key] = l.order.PushFront(item[K, V]{key, value})
	if l.order.Len() > l.max {
		oldest := l.order.Remove(l.order.Back()).(item[K, V])
		delete(l.items, oldest.key)
	}
}

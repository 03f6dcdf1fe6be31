package clitest

import (
	"encoding/json"
	"slices"

	"bailing/shared/registry"
)

// Keep lets the list at path have what is saved there: objects are named by the member key, and secret is shown masked.
func (h *Hub) Keep(path, key, secret string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept[path] = keeper{key, secret}
}

// keeper says how the objects of a list are kept.
type keeper struct{ key, secret string }

// save puts an object into the list at path, in place of the one of its name. The caller has the lock.
func (h *Hub) save(path string, body []byte) {
	k, kept := h.kept[path]
	var list []map[string]any
	var object map[string]any
	if !kept || json.Unmarshal([]byte(h.answers["GET "+path].Body), &list) != nil || json.Unmarshal(body, &object) != nil {
		return
	}
	delete(object, "expected_revision")
	delete(object, "spec_json")
	i := slices.IndexFunc(list, func(o map[string]any) bool { return o[k.key] == object[k.key] })
	if i < 0 {
		list = append(list, nil)
		i = len(list) - 1
	}
	before := list[i]
	if given, ok := object[k.secret].(string); ok {
		object[k.secret] = registry.Mask(given)
	} else if k.secret != "" {
		object[k.secret] = before[k.secret]
	}
	for _, found := range []string{"has_spec", "spec_access_probe"} {
		if before[found] != nil {
			object[found] = before[found]
		}
	}
	list[i] = object
	if b, err := json.Marshal(list); err == nil {
		h.answers["GET "+path] = Reply{200, string(b)}
	}
}

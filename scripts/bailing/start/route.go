package start

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"bailing/scripts/bailing/config"
)

// useRoute decides on the route: one that is there gets the tools that it lacks, and is otherwise left alone.
func (w *wizard) useRoute(ctx context.Context) (err error) {
	k := config.KindNamed("route")
	if w.route, err = w.ask(ctx, "route", w.route, "Name of the route", "hello"); err != nil {
		return err
	}
	was, exists, err := k.Lookup(ctx, w.e, w.hub, w.route)
	if err != nil {
		return err
	}
	if !exists {
		members := map[string]any{
			"route_key": w.route, "name": w.route, "target": "llm", "session_policy": "new",
			"target_config": map[string]any{"credential": w.credential},
		}
		attach(members, w.tools, w.subjectField)
		if _, err := k.Save(ctx, w.e, w.hub, was, members); err != nil {
			return err
		}
		w.say("Route", "The route %s is saved: jobs of it are answered with the credential %s.", w.route, w.credential)
		return nil
	}
	members := was.Members(k)
	if !attach(members, w.tools, w.subjectField) {
		w.say("Route", "The route %s is there and stays as it is (credential %s).", w.route, was.Text("target_config.credential"))
		return nil
	}
	if _, err := k.Save(ctx, w.e, w.hub, was, members); err != nil {
		return err
	}
	w.say("Route", "The route %s is there, and may use the tools of %s now.", w.route, w.tools.provider)
	return nil
}

// attach adds the scopes of a provider's tools to a route; false when it has them.
func attach(route map[string]any, tools *attached, subjectField string) bool {
	if tools == nil {
		return false
	}
	settings, _ := route["tools"].(map[string]any)
	if settings == nil {
		settings = map[string]any{}
	}
	sources, _ := settings["sources"].([]any)
	for _, s := range sources {
		source, _ := s.(map[string]any)
		if source["provider"] == tools.provider {
			return allow(source, tools.found.Scopes)
		}
	}
	source := map[string]any{"provider": tools.provider, "subject_field": subjectField}
	allow(source, tools.found.Scopes)
	settings["sources"] = append(sources, source)
	route["tools"] = settings
	return true
}

// allow adds scopes to the list of a source, unless everything is allowed already.
func allow(source map[string]any, scopes []string) (changed bool) {
	list, _ := source["allow"].([]any)
	for _, scope := range scopes {
		if !slices.Contains(list, any(scope)) && !slices.Contains(list, any("*")) {
			list, changed = append(list, scope), true
		}
	}
	source["allow"] = list
	return changed
}

// useClient decides on the client, lets it use the route, and learns its token.
func (w *wizard) useClient(ctx context.Context) (err error) {
	k := config.KindNamed("client")
	if w.client, err = w.ask(ctx, "client", w.client, "Name of the client", "first-client"); err != nil {
		return err
	}
	was, exists, err := k.Lookup(ctx, w.e, w.hub, w.client)
	if err != nil {
		return err
	}
	members := map[string]any{"app_id": w.client, "name": w.client, "allowed_routes": []any{w.route}}
	sentence := fmt.Sprintf("The client %s is saved; it may use the route %s.", w.client, w.route)
	if exists {
		members = was.Members(k)
		routes, _ := members["allowed_routes"].([]any)
		if slices.Contains(routes, any(w.route)) || slices.Contains(routes, any("*")) {
			w.say("Client", "The client %s is there and may use the route %s.", w.client, w.route)
			return w.reveal(ctx)
		}
		members["allowed_routes"] = append(routes, w.route)
		sentence = fmt.Sprintf("The client %s is there, and may use the route %s now.", w.client, w.route)
	}
	a, err := k.Save(ctx, w.e, w.hub, was, members)
	if err != nil {
		return err
	}
	var saved struct {
		Token string `json:"token"`
	}
	if err := a.Into(&saved); err != nil {
		return err
	}
	w.token = saved.Token
	w.say("Client", "%s", sentence)
	return nil
}

// reveal asks for the token of a client that is there.
func (w *wizard) reveal(ctx context.Context) error {
	path := "/admin/api/clients/" + url.PathEscape(w.client) + "/token"
	a, err := w.hub.Ask(ctx, w.e, http.MethodGet, path, nil, "asking for the client's token")
	if err != nil {
		return err
	}
	var shown struct {
		Token string `json:"token"`
	}
	if err := a.Into(&shown); err != nil {
		return err
	}
	w.token = shown.Token
	return nil
}

package runtimeapi

import (
	"maps"
	"slices"
	"strconv"

	"bailing/scripts/local/invoke"
)

// environment is everything that the program finds in its environment: what Lambda sets on an OS-only runtime, and what the
// deployment sets. The deployment's credentials and region are Lambda's own there, and come with the deployment here.
func environment(o Options, api string) []string {
	env := map[string]string{
		"AWS_REGION": invoke.Region, "LANG": "en_US.UTF-8", "TZ": ":UTC", "PATH": "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"_HANDLER": "bootstrap",
	}
	maps.Copy(env, o.Env)
	maps.Copy(env, map[string]string{
		"AWS_DEFAULT_REGION": env["AWS_REGION"], "AWS_LAMBDA_RUNTIME_API": api, "AWS_LAMBDA_FUNCTION_NAME": o.Name,
		"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(o.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
	})
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

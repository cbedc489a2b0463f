//go:build before_0_45 && !before_0_43

package main

import (
	"context"
	"net/http"
)

func connectionContext(_ http.ResponseWriter, request *http.Request) context.Context {
	return request.Context()
}

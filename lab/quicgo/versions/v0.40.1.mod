module quiclens/lab/quicgo

go 1.26.0

require github.com/quic-go/quic-go v0.40.1

require (
	github.com/francoispqt/gojay v1.2.13 // indirect
	github.com/quic-go/qpack v0.4.0 // indirect
	golang.org/x/crypto v0.4.0 // indirect
	golang.org/x/exp v0.0.0-20221205204356-47842c84f3db // indirect
	golang.org/x/net v0.10.0 // indirect
	golang.org/x/sys v0.8.0 // indirect
	golang.org/x/text v0.9.0 // indirect
)

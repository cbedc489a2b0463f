module quiclens/lab/quicgo

go 1.26.0

require github.com/quic-go/quic-go v0.46.0

require (
	github.com/francoispqt/gojay v1.2.13 // indirect
	github.com/quic-go/qpack v0.4.0 // indirect
	golang.org/x/crypto v0.23.0 // indirect
	golang.org/x/exp v0.0.0-20240506185415-9bf2ced13842 // indirect
	golang.org/x/net v0.25.0 // indirect
	golang.org/x/sys v0.20.0 // indirect
	golang.org/x/text v0.15.0 // indirect
)

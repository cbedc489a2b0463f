package quicgo

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

const authority = "www.lab.example"

// tlsSides makes a certificate and what each end needs of it. An Ed25519 signature always has the same size: an ECDSA one
// would move packets by a byte from run to run.
func tlsSides() (server, client *tls.Config, err error) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)) // protects nothing
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: authority},
		DNSNames:     []string{authority},
		NotBefore:    time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	client = &tls.Config{RootCAs: roots, ServerName: authority, NextProtos: []string{"h3"}}
	return server, client, nil
}

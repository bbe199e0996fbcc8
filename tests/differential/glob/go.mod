module anabranch/tests/differential/glob

go 1.21

require github.com/gobwas/glob v0.2.3

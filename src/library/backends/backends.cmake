# Every backend, in the order in which they are listed everywhere; each is a folder of its name. The
# first is the baseline of speed-ups. To add one, add its folder and its name here.
set(HEADROOM_KNOWN_BACKENDS naive autovec xsimd onednn tbb)

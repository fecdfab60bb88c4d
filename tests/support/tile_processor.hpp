// A tile unit for processors that have none: its instructions end in a signal, whose handler does
// what they say. Slow, and exact; so the code for the real unit runs in tests everywhere.
#pragma once

#if defined(__x86_64__)
namespace headroom::test {

/// While it lives, this process has tiles, whose products are those of the emulator.
class TileProcessor {
 public:
  TileProcessor();
  ~TileProcessor();
  TileProcessor(const TileProcessor&) = delete;
  TileProcessor& operator=(const TileProcessor&) = delete;

  /// Tile instructions that were executed so far.
  long executed() const;
  /// Whether a thread holds tiles that it has configured and not released.
  bool configured() const;
};

/// Loads a configuration that differs from the kernels' own, as another library would; and the
/// palette and the rows of tile 0 that are configured now.
void configure_as_others_do();
int configured_palette();
int configured_rows();

}  // namespace headroom::test
#endif

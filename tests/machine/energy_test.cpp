// The energy of made-up machines: what is added up, wraps, and the reason where there is none.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "machine/counters/energy_meter.hpp"
#include "support/child.hpp"
#include "support/made_up_usage.hpp"
#include "support/temporary_folder.hpp"

namespace headroom::machine::energy_test {
namespace {

namespace fs = std::filesystem;

class MadeUpEnergy : public test::TemporaryFolder {
 protected:
  void zone(const std::string& zone, const std::string& name, const std::string& microjoules) {
    test::write_zone(path_, zone, name, microjoules);
  }
  // Of the zones as they are now and as they are after `later`.
  std::optional<double> joules_until(const std::function<void()>& later) {
    const EnergyMeter meter(path_);
    const std::optional<EnergyReading> before = meter.read();
    later();
    const std::optional<EnergyReading> after = meter.read();
    return before && after ? meter.joules(*before, *after) : std::nullopt;
  }
};

TEST_F(MadeUpEnergy, IsThatOfPackagesAndTheirMemory) {
  zone("intel-rapl:0", "package-0", "1000000");
  zone("intel-rapl:0:0", "core", "1");
  zone("intel-rapl:0:1", "uncore", "2");
  zone("intel-rapl:0:2", "dram", "3000000");
  zone("intel-rapl:1", "package-1", "5000000");
  zone("intel-rapl:2", "psys", "7");
  zone("intel-rapl-mmio:0", "package-0", "1000000");
  const EnergyMeter meter(path_);
  EXPECT_EQ(meter.why_not(), "");
  EXPECT_EQ(meter.words(), "powercap: package-0, dram, package-1");
  const auto used = joules_until([&] {
    zone("intel-rapl:0", "package-0", "1500000");
    zone("intel-rapl:0:0", "core", "900000000");
    zone("intel-rapl:0:2", "dram", "3250000");
    zone("intel-rapl:1", "package-1", "7000000");
    zone("intel-rapl:2", "psys", "900000000");
    zone("intel-rapl-mmio:0", "package-0", "1500000");
  });
  EXPECT_DOUBLE_EQ(used.value(), 0.5 + 0.25 + 2);
}

TEST_F(MadeUpEnergy, GoesOnAfterTheCountWraps) {
  zone("intel-rapl:0", "package-0", "262143000000");
  EXPECT_DOUBLE_EQ(joules_until([&] { zone("intel-rapl:0", "package-0", "671150"); }).value(), 1.0);
}

TEST_F(MadeUpEnergy, IsNotGuessedWhereAWrapCannotBeUnderstood) {
  zone("intel-rapl:0", "package-0", "2000000");
  write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000\n");
  EXPECT_FALSE(joules_until([&] { write("sys/class/powercap/intel-rapl:0/energy_uj", "5\n"); }))
      << "the count was beyond its range";
  write("sys/class/powercap/intel-rapl:0/energy_uj", "2000000\n");
  fs::remove(path_ / "sys/class/powercap/intel-rapl:0/max_energy_range_uj");
  EXPECT_FALSE(joules_until([&] { write("sys/class/powercap/intel-rapl:0/energy_uj", "5\n"); }))
      << "it has no range";
}

TEST_F(MadeUpEnergy, OfSocketsIsReadFromHwmon) {
  write("sys/class/hwmon/hwmon0/name", "i915\n");
  write("sys/class/hwmon/hwmon0/energy1_label", "Esocket9\n");
  write("sys/class/hwmon/hwmon0/energy1_input", "900\n");
  write("sys/class/hwmon/hwmon1/name", "amd_energy\n");
  write("sys/class/hwmon/hwmon1/energy1_label", "Ecore000\n");
  write("sys/class/hwmon/hwmon1/energy1_input", "1\n");
  write("sys/class/hwmon/hwmon1/energy2_label", "Esocket0\n");
  write("sys/class/hwmon/hwmon1/energy2_input", "4000000\n");
  EXPECT_EQ(EnergyMeter(path_).words(), "hwmon: Esocket0");
  const auto used = joules_until([&] {
    write("sys/class/hwmon/hwmon0/energy1_input", "900000000\n");
    write("sys/class/hwmon/hwmon1/energy1_input", "2000000\n");
    write("sys/class/hwmon/hwmon1/energy2_input", "7000000\n");
  });
  EXPECT_DOUBLE_EQ(used.value(), 3);
}

TEST_F(MadeUpEnergy, SaysWhichFilesAreMissing) {
  const std::string why = EnergyMeter(path_).why_not();
  EXPECT_TRUE(why.starts_with("not available: ")) << why;
  EXPECT_NE(why.find("sys/class/powercap: No such file"), std::string::npos) << why;
  EXPECT_NE(why.find("sys/class/hwmon: No such file"), std::string::npos) << why;
  EXPECT_EQ(why.find("virtual"), std::string::npos) << why;
  EXPECT_FALSE(EnergyMeter(path_).read());
  write("proc/cpuinfo", "flags : fpu hypervisor avx2\n");
  EXPECT_NE(EnergyMeter(path_).why_not().find("; this is a virtual machine"), std::string::npos);
  zone("intel-rapl:0", "psys", "1");
  EXPECT_NE(EnergyMeter(path_).why_not().find("powercap: has no intel-rapl zone of a package"),
            std::string::npos);
}

TEST_F(MadeUpEnergy, OfAPartOfTheMachineIsNone) {
  zone("intel-rapl:0", "package-0", "1000000");
  zone("intel-rapl:0:0", "dram", "off");
  const std::string why = EnergyMeter(path_).why_not();
  EXPECT_NE(why.find("intel-rapl:0:0/energy_uj: does not say"), std::string::npos) << why;
}

// In a child: who may read everything has to become somebody else first.
TEST_F(MadeUpEnergy, SaysHowToAllowWhatIsForbidden) {
  zone("intel-rapl:0", "package-0", "1000000");
  // Whatever the umask is, only the last file is forbidden.
  const auto open_to_all = [](const fs::path& path) {
    using enum fs::perms;
    fs::permissions(path, group_read | group_exec | others_read | others_exec,
                    fs::perm_options::add);
  };
  open_to_all(path_);
  for (const auto& entry : fs::recursive_directory_iterator(path_)) open_to_all(entry.path());
  fs::permissions(path_ / "sys/class/powercap/intel-rapl:0/energy_uj", fs::perms::none);
  const std::string why = test::in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && setuid(kNobody) != 0) return std::string("cannot become nobody");
    return EnergyMeter(path_).why_not();
  });
  EXPECT_NE(why.find("intel-rapl:0/energy_uj: Permission denied (allow it: sudo chmod a+r"),
            std::string::npos)
      << why;
}

TEST_F(MadeUpEnergy, OfAnIdleMachineIsAPowerUnlessItsCountsStandStill) {
  zone("intel-rapl:0", "package-0", "1000000");
  constexpr double kSeconds = 0.05;
  EXPECT_FALSE(idle_watts(EnergyMeter(path_), kSeconds));
  const test::Burning burning(path_, "intel-rapl:0", 100);
  EXPECT_GT(idle_watts(EnergyMeter(path_), kSeconds).value_or(0), 0);
  EXPECT_FALSE(idle_watts(EnergyMeter(path_ / "nowhere"), kSeconds));
}

}  // namespace
}  // namespace headroom::machine::energy_test

#include "model/vm_size.h"

#include <algorithm>
#include <cctype>

namespace ferry::model {

const std::vector<VmSize>& VmSizes() {
  static const std::vector<VmSize> sizes = {
      {"Standard_A1_v2", 1, 2, 0, 10240, 0.043},
      {"Standard_A2_v2", 2, 4, 0, 20480, 0.091},
      {"Standard_A4_v2", 4, 8, 0, 40960, 0.191},
      {"Standard_D1_v2", 1, 3.5, 0, 51200, 0.073},
      {"Standard_D2_v2", 2, 7, 0, 102400, 0.146},
      {"Standard_D3_v2", 4, 14, 0, 204800, 0.293},
      {"Standard_D4_v2", 8, 28, 0, 409600, 0.585},
      {"Standard_D5_v2", 16, 56, 0, 819200, 1.17},
      {"Standard_D11_v2", 2, 14, 0, 102400, 0.185},
      {"Standard_D12_v2", 4, 28, 0, 204800, 0.371},
      {"Standard_D13_v2", 8, 56, 0, 409600, 0.741},
      {"Standard_D14_v2", 16, 112, 0, 819200, 1.482},
      {"Standard_DS1_v2", 1, 3.5, 0, 7168, 0.073},
      {"Standard_DS2_v2", 2, 7, 0, 14336, 0.146},
      {"Standard_DS3_v2", 4, 14, 0, 28672, 0.293},
      {"Standard_DS4_v2", 8, 28, 0, 57344, 0.585},
      {"Standard_DS5_v2", 16, 56, 0, 114688, 1.17},
      {"Standard_DS11_v2", 2, 14, 0, 28672, 0.185},
      {"Standard_DS12_v2", 4, 28, 0, 57344, 0.371},
      {"Standard_DS13_v2", 8, 56, 0, 114688, 0.741},
      {"Standard_DS14_v2", 16, 112, 0, 229376, 1.482},
      {"Standard_D2s_v3", 2, 8, 0, 16384, 0.096},
      {"Standard_D4s_v3", 4, 16, 0, 32768, 0.192},
      {"Standard_D8s_v3", 8, 32, 0, 65536, 0.384},
      {"Standard_D16s_v3", 16, 64, 0, 131072, 0.768},
      {"Standard_D32s_v3", 32, 128, 0, 262144, 1.536},
      {"Standard_D64s_v3", 64, 256, 0, 524288, 3.072},
      {"Standard_E4s_v3", 4, 32, 0, 65536, 0.252},
      {"Standard_E8s_v3", 8, 64, 0, 131072, 0.504},
      {"Standard_E16s_v3", 16, 128, 0, 262144, 1.008},
      {"Standard_F2s_v2", 2, 4, 0, 16384, 0.085},
      {"Standard_F4s_v2", 4, 8, 0, 32768, 0.169},
      {"Standard_F8s_v2", 8, 16, 0, 65536, 0.338},
      {"Standard_F16s_v2", 16, 32, 0, 131072, 0.677},
      {"Standard_F32s_v2", 32, 64, 0, 262144, 1.353},
      {"Standard_F64s_v2", 64, 128, 0, 524288, 2.706},
      {"Standard_NC6", 6, 56, 1, 389120, 0.9},
      {"Standard_NC12", 12, 112, 2, 696320, 1.8},
      {"Standard_NC24", 24, 224, 4, 1474560, 3.6},
      {"Standard_NC6s_v2", 6, 112, 1, 344064, 2.07},
      {"Standard_NC12s_v2", 12, 224, 2, 688128, 4.14},
      {"Standard_NC24s_v2", 24, 448, 4, 1376256, 8.28},
      {"Standard_NC6s_v3", 6, 112, 1, 344064, 3.06},
      {"Standard_NC12s_v3", 12, 224, 2, 688128, 6.12},
      {"Standard_NC24s_v3", 24, 448, 4, 1376256, 12.24},
      {"Standard_NC4as_T4_v3", 4, 28, 1, 180224, 0.526},
      {"Standard_NC8as_T4_v3", 8, 56, 1, 360448, 0.752},
      {"Standard_NC16as_T4_v3", 16, 110, 1, 360448, 1.204},
      {"Standard_NC64as_T4_v3", 64, 440, 4, 2883584, 4.352},
      {"Standard_NC24ads_A100_v4", 24, 220, 1, 65536, 3.673},
      {"Standard_NC48ads_A100_v4", 48, 440, 2, 131072, 7.346},
      {"Standard_NC96ads_A100_v4", 96, 880, 4, 262144, 14.692},
      {"Standard_ND40rs_v2", 40, 672, 8, 2969600, 22.032},
      {"Standard_ND96asr_v4", 96, 900, 8, 6144000, 27.197},
      {"Standard_NV6", 6, 56, 1, 389120, 1.14},
      {"Standard_NV12", 12, 112, 2, 696320, 2.28},
      {"Standard_NV24", 24, 224, 4, 1474560, 4.56},
  };
  return sizes;
}

std::optional<VmSize> FindVmSize(std::string_view name) {
  auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b)); };
  for (const VmSize& size : VmSizes())
    if (std::equal(size.name.begin(), size.name.end(), name.begin(), name.end(), same)) return size;
  return std::nullopt;
}

Json ToJson(const VmSize& size) {
  return Json::MakeObject({{"name", size.name},
                           {"vCPUs", size.cores},
                           {"memoryGB", size.memory_gb},
                           {"gpus", size.gpus},
                           {"maxResourceVolumeMB", size.disk_mb},
                           {"price", size.price}});
}

}  // namespace ferry::model

#include "python/binding/values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera::python {
namespace {

namespace py = pybind11;
using config::Json;

std::string utf8_of(py::handle value) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) throw py::error_already_set();
  return {text, static_cast<size_t>(size)};
}

py::type_error refusal(py::handle value, const char* expected) {
  return py::type_error(std::string("a ") + Py_TYPE(value.ptr())->tp_name +
                        " was given, expected " + expected);
}

Json whole_number_of(py::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return number;
  const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return large;
}

/// One object within another. Throws RecursionError where there are too many: a list that holds
/// itself has no end.
struct Level {
  Level() {
    if (Py_EnterRecursiveCall(" in an argument") != 0) throw py::error_already_set();
  }
  ~Level() { Py_LeaveRecursiveCall(); }
};

Json list_of(py::handle value, Paths paths) {
  Json list = Json::array();
  for (const py::handle item : value) list.push_back(json_of(item, paths));
  return list;
}

/// paths_of: of the entry with this name.
template <typename PathsOf>
Json table_of(const py::dict& value, const PathsOf& paths_of) {
  Json table = Json::object();
  for (const auto& [key, item] : value) {
    const std::string name = utf8_of(key);
    try {
      table[name] = json_of(item, paths_of(name));
    } catch (const py::type_error& error) {
      throw py::type_error(name + ": " + error.what());
    }
  }
  return table;
}

constexpr std::string_view kMetadata = "meta";    // the field of KEY=VALUE
constexpr std::string_view kStrPath = "StrPath";  // the type of a text that may be a path

/// {"key": "value"} as ["key=value"].
Json assignments_of(const Json& table) {
  Json list = Json::array();
  for (const auto& [key, value] : table.items()) {
    check_argument(key.find('=') == std::string::npos,
                   "{} has the key '{}', expected one without '='", kMetadata, key);
    check_argument(value.is_string(), "{} has {} for '{}', expected a text", kMetadata,
                   config::shown(value), key);
    list.push_back(key + "=" + value.get<std::string>());
  }
  return list;
}

/// What an annotation says of a field's type.
template <typename Value>
std::string type_name() {
  if constexpr (std::is_same_v<Value, bool>) return "bool";
  if constexpr (std::is_integral_v<Value>) return "int";
  if constexpr (std::is_floating_point_v<Value>) return "float";
  return "str";
}
template <typename Value>
std::string type_of(Value*) {
  return type_name<Value>();
}
template <typename Value>
std::string type_of(std::optional<Value>*) {
  return type_name<Value>() + " | None";
}
template <typename Value>
std::string type_of(std::vector<Value>*) {
  return "Iterable[" + type_name<Value>() + "]";
}
std::string type_of(std::vector<std::string>*) {
  return "str | Iterable[str]";
}
std::string type_of(const config::EnumField&) {
  return "str";
}
std::string type_of(const std::vector<config::Field>&) {
  return "Mapping[str, Any]";
}

}  // namespace

std::string text_of(py::handle value) {
  if (PyUnicode_Check(value.ptr())) return utf8_of(value);
  throw refusal(value, "a str");
}

Json json_of(py::handle value, Paths paths) {
  const Level level;
  PyObject* const object = value.ptr();
  if (value.is_none()) return nullptr;
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return whole_number_of(value);
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  if (PyUnicode_Check(object)) return text_of(value);
  if (py::hasattr(value, "__fspath__")) {
    if (paths == Paths::kTexts) return text_of(value.attr("__fspath__")());
    throw refusal(value, "no path; read the file for its text");
  }
  if (py::isinstance<py::dict>(value))
    return table_of(py::reinterpret_borrow<py::dict>(value),
                    [](const std::string&) { return Paths::kRefused; });
  if (py::hasattr(value, "tolist")) {  // of NumPy and PyTorch
    const py::object plain = value.attr("tolist")();
    if (Py_TYPE(plain.ptr()) != Py_TYPE(object))
      return json_of(plain, paths);  // a long double stays one
  }
  if (PyIndex_Check(object)) return whole_number_of(value.attr("__index__")());
  if (py::hasattr(value, "__float__")) return value.attr("__float__")().cast<double>();
  const bool is_bytes = PyBytes_Check(object) || PyByteArray_Check(object);
  if (py::hasattr(value, "__iter__") && !is_bytes) return list_of(value, paths);
  throw refusal(value, "a bool, a number, a str, a path, or a list or dict of these");
}

Json request_of(const py::dict& request, const Json& fields) {
  return table_of(request, [&](const std::string& name) {
    for (const Json& field : fields)
      if (field["name"] == name && field["type"].get<std::string>().starts_with(kStrPath))
        return Paths::kTexts;
    return Paths::kRefused;
  });
}

Json with_lists(Json request, const std::vector<config::Field>& fields) {
  for (const config::Field& field : fields) {
    const auto value = request.find(std::string(field.name));
    if (!std::holds_alternative<std::vector<std::string>*>(field.value) || value == request.end())
      continue;
    if (value->is_string())
      *value = Json::array({*value});
    else if (field.name == kMetadata && value->is_object())
      *value = assignments_of(*value);
  }
  return request;
}

py::object object_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return py::bool_(json.get<bool>());
    case Json::value_t::number_integer:
      return py::int_(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return py::int_(json.get<uint64_t>());
    case Json::value_t::number_float:
      return py::float_(json.get<double>());
    case Json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      return py::reinterpret_steal<py::object>(
          PyUnicode_DecodeUTF8(text.data(), std::ssize(text), "replace"));
    }
    case Json::value_t::array: {
      py::list list;
      for (const Json& item : json) list.append(object_of(item));
      return list;
    }
    case Json::value_t::object: {
      py::object answer = py::module_::import("tessera._answer").attr("Answer")();
      for (const auto& [key, item] : json.items()) answer[py::str(key)] = object_of(item);
      return answer;
    }
    default:
      return py::none();
  }
}

Json described(const std::vector<config::Field>& fields, std::span<const std::string_view> paths) {
  const Json defaults = config::fields_to_json(fields);
  Json list = Json::array();
  for (const config::Field& field : fields) {
    const std::string name(field.name);
    std::string type = std::visit([](const auto& value) { return type_of(value); }, field.value);
    if (name == kMetadata) type += " | Mapping[str, str]";
    if (std::ranges::find(paths, name) != paths.end())
      for (size_t at = 0; (at = type.find("str", at)) != std::string::npos;)
        type.replace(at, 3, kStrPath);
    list.push_back({{"name", name},
                    {"type", type},
                    {"default", defaults[name]},
                    {"required", field.demand.required},
                    {"help", field.help}});
  }
  return list;
}

}  // namespace tessera::python

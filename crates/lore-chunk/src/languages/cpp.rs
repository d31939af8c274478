//! C++, on top of C.

use lore_model::SymbolKind;

use super::{c, c_macros};
use crate::{
    engine::{Role, Shape, Spec, define},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "cpp",
    // Those of C are here for files that C does not claim.
    extensions: &[
        "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "ixx", "cppm", "tpp", "inl", "cu", "cuh", "ino", "h", "c",
    ],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_cpp::LANGUAGE.into(),
    rules: &[c::RULES, RULES],
    markers: &["//", "/*", "struct ", "class "],
    separator: "::",
    hide: Some(c_macros::hide),
    ..Spec::CODE
};

/// What there is besides C.
const RULES: &[(&str, Role)] = &[
    ("namespace_definition", define(SymbolKind::Module, Shape::Scope)),
    ("class_specifier", Role::Hook(c::specifier)),
    ("access_specifier", Role::Ignore),
    ("template_declaration", Role::Wrap),
    ("template_parameter_list", Role::Lead),
    ("requires_clause", Role::Lead),
    ("friend_declaration", Role::Wrap),
    ("alias_declaration", define(SymbolKind::Type, Shape::Leaf)),
    ("concept_definition", define(SymbolKind::Type, Shape::Leaf)),
    // The body of a class that is read as a function, for a macro before its name.
    ("compound_statement", Role::Body),
    ("labeled_statement", Role::Open),
    ("statement_identifier", Role::Ignore),
    ("raw_string_literal", Role::Ignore),
];

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_containers() {
        let text = r#"// Licence.
#pragma once
#include <string>

namespace shop::core {

/// A shop.
template <typename T, int N = 3>
class Shop final : public Base<T>, private Other {
 public:
  /// Makes one.
  explicit Shop(const std::string& name) : name_(name) {}
  Shop(const Shop&) = delete;
  virtual ~Shop();
  virtual int size() const = 0;
  bool operator==(const Shop& other) const { return true; }
  operator bool() const;
  static std::unique_ptr<Shop> open(std::string path,
                                    int mode = 0);
  template <typename K>
  K* get(K key) {
    return nullptr;
  }
  friend class Friend;
  enum class Kind : int { kSmall, kLarge };
  struct Inner {
    int x;
  };
  static constexpr int kLimit = 10;

 private:
  std::string name_;
  int (*callback_)(int);
};

using Names = std::vector<std::string>;
typedef std::map<int, std::string> Map;
template <typename T> concept Small = sizeof(T) < 8;
constexpr int kMost = 3;

/// Sizes.
template <typename T, int N>
int Shop<T, N>::size() const {
  // Inside.
  std::string local(name_,
                    1,
                    2);
  auto f = [](int x) { return x; };
  return 1;
}

Outer::Inner::~Inner() {}
std::ostream& operator<<(std::ostream& out, const Names& names);

namespace {
int hidden() { return 1; }
}  // namespace

}  // namespace shop::core

template <>
struct std::hash<Names> {
  size_t operator()(const Names& of) const noexcept { return 0; }
};

int main(int argc, char** argv) {
  struct Local {
    int a;
  };
  return 0;
}
"#;
        check("cpp", text, &expect![[r#"
            definitions 1-34 class `Shop` in `shop::core` names shop::core Shop ~Shop size operator== operator bool open get Kind kSmall kLarge Inner x kLimit name_ callback_ prose // Licence. | /// A shop. | /// Makes one.
            definitions 35-38 in `shop::core` names Names Map Small
            data 39-39 constant `kMost` in `shop::core`
            definitions 40-50 method `size` in `shop::core::Shop` prose /// Sizes. | // Inside.
            definitions 51-53 in `shop::core` names ~Inner operator<<
            definitions 54-59 function `hidden` in `shop::core` prose // namespace | // namespace shop::core
            definitions 60-64 struct `hash` in `std` names hash operator()
            definitions 65-71 function `main` names main Local a
              5-59 module `shop::core`: namespace shop::core
              9-34 class `Shop` in `shop::core`: class Shop final : public Base<T>, private Other
              12-12 method `Shop` in `shop::core::Shop`: explicit Shop(const std::string& name) : name_(name)
              13-13 method `Shop` in `shop::core::Shop`: Shop(const Shop&) = delete;
              14-14 method `~Shop` in `shop::core::Shop`: virtual ~Shop();
              15-15 method `size` in `shop::core::Shop`: virtual int size() const = 0;
              16-16 method `operator==` in `shop::core::Shop`: bool operator==(const Shop& other) const
              17-17 method `operator bool` in `shop::core::Shop`: operator bool() const;
              18-19 method `open` in `shop::core::Shop`: static std::unique_ptr<Shop> open(std::string path, int mode = 0);
              21-23 method `get` in `shop::core::Shop`: K* get(K key)
              25-25 enum `Kind` in `shop::core::Shop`: enum class Kind : int
              26-28 struct `Inner` in `shop::core::Shop`: struct Inner
              29-29 constant `kLimit` in `shop::core::Shop`: static constexpr int kLimit = 10;
              36-36 type `Names` in `shop::core`: using Names = std::vector<std::string>;
              37-37 type `Map` in `shop::core`: typedef std::map<int, std::string> Map;
              38-38 type `Small` in `shop::core`: concept Small = sizeof(T) < 8;
              39-39 constant `kMost` in `shop::core`: constexpr int kMost = 3;
              43-50 method `size` in `shop::core::Shop`: int Shop<T, N>::size() const
              52-52 method `~Inner` in `shop::core::Outer::Inner`: Outer::Inner::~Inner()
              53-53 function `operator<<` in `shop::core`: std::ostream& operator<<(std::ostream& out, const Names& names);
              56-56 function `hidden` in `shop::core`: int hidden()
              62-64 struct `hash` in `std`: struct std::hash<Names>
              63-63 method `operator()` in `std::hash`: size_t operator()(const Names& of) const noexcept
              66-71 function `main`: int main(int argc, char** argv)
              67-69 struct `Local` in `main`: struct Local
            imports 1
        "#]]);
    }

    #[test]
    fn a_class_may_have_a_macro_before_its_name() {
        let text = "class EXPORT Database {\n public:\n  Database() = default;\n  virtual ~Database();\n  static int Open(const char* name);\n  virtual int Get(int key) = 0;\n};\n";
        check("cpp", text, &expect![[r#"
            definitions 1-7 class `Database` names Database ~Database Open Get
              1-7 class `Database`: class EXPORT Database
              3-3 method `Database` in `Database`: Database() = default;
              4-4 method `~Database` in `Database`: virtual ~Database();
              5-5 method `Open` in `Database`: static int Open(const char* name);
              6-6 method `Get` in `Database`: virtual int Get(int key) = 0;
        "#]]);
    }

    #[test]
    fn macros_before_and_behind_declarations_are_looked_through() {
        let text = r#"#include <string>
FMT_BEGIN_NAMESPACE
namespace detail {

// Pools.
SPDLOG_INLINE thread_pool::thread_pool(int n)
    : q_(n) {
  TRY {
    start(n);
  }
  CATCH_ALL
}

FMT_EXPORT template <typename T, FMT_ENABLE_IF(std::is_integral<T>::value)>
FMT_CONSTEXPR auto count(T value) FMT_NOEXCEPT -> int {
  return (int)MAX_VALUE;
}

class FMT_API view {
 JSON_PRIVATE_UNLESS_TESTED:
  FMT_CONSTEXPR view() noexcept : data_(nullptr) {}
  FMT_DEPRECATED("use other") operator bool() const;
  ~view();
};

static int WINAPI run(
#ifdef WIDE
    wchar_t* text
#else
    char* text
#endif
) {
  BOOL ok = 1;
  return ok;
}

}
FMT_END_NAMESPACE
"#;
        check("cpp", text, &expect![[r#"
            definitions 1-12 method `thread_pool` in `detail::thread_pool` names detail thread_pool prose // Pools.
            definitions 13-17 function `count` in `detail`
            definitions 18-24 class `view` in `detail` names view operator bool ~view
            definitions 25-38 function `run` in `detail`
              3-37 module `detail`: namespace detail
              6-12 method `thread_pool` in `detail::thread_pool`: thread_pool::thread_pool(int n) : q_(n)
              15-17 function `count` in `detail`: auto count(T value) FMT_NOEXCEPT -> int
              19-24 class `view` in `detail`: class FMT_API view
              21-21 method `view` in `detail::view`: FMT_CONSTEXPR view() noexcept : data_(nullptr)
              22-22 method `operator bool` in `detail::view`: operator bool() const;
              23-23 method `~view` in `detail::view`: ~view();
              26-35 function `run` in `detail`: static int WINAPI run( #ifdef WIDE wchar_t* text #else char* text #endif )
            imports 1
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("cpp", "class A {\n  int b() {\n    int x = ;\n    foo(\n  }\n\n  int c() {\n    return 1;\n  }\n};\n\nint d() {\n  int y = 1;\n  return y;\n}\n", &expect![[r#"
            definitions 1-10 class `A` names A b c
            definitions 11-15 function `d`
              1-10 class `A`: class A
              2-5 method `b` in `A`: int b()
              7-9 method `c` in `A`: int c()
              12-15 function `d`: int d()
        "#]]);
    }
}

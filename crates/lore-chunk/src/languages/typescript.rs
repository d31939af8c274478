//! TypeScript.

use lore_model::SymbolKind;

use super::javascript;
use crate::{
    engine::{At, Role, Shape, Spec, define, field},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "typescript", extensions: &["ts", "mts", "cts"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    rules: &[javascript::RULES, RULES],
    ..Spec::CODE
};

/// What there is besides JavaScript.
pub(crate) const RULES: &[(&str, Role)] = &[
    ("abstract_class_declaration", define(SymbolKind::Class, Shape::Container)),
    ("interface_declaration", define(SymbolKind::Interface, Shape::Container)),
    ("interface_body", Role::Body),
    ("object_type", Role::Body),
    ("property_signature", field()),
    ("method_signature", field()),
    ("abstract_method_signature", field()),
    ("public_field_definition", Role::Hook(javascript::class_field)),
    ("function_signature", define(SymbolKind::Function, Shape::Function)),
    ("type_alias_declaration", define(SymbolKind::Type, Shape::Leaf)),
    ("enum_declaration", define(SymbolKind::Enum, Shape::Data)),
    ("enum_body", Role::Body),
    ("enum_assignment", field()),
    ("property_identifier", Role::Field(At::Whole)),
    ("internal_module", define(SymbolKind::Module, Shape::Scope)),
    ("module", define(SymbolKind::Module, Shape::Scope)),
    ("statement_block", Role::Body),
    ("ambient_declaration", Role::Wrap),
];

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn types_are_found() {
        let text = r#"import { a } from 'a';
import type { B } from './b';

/** What people are. */
export interface Person<T> extends Base {
  /** Their name. */
  name: string;
  greet(other: Person<T>): void;
}

export type Id = string | number;

export enum Colour {
  Red,
  Green = 'green',
}

declare module 'x' {
  export function y(): void;
}

export namespace Space {
  export const z = 1;
  export function inside(): number {
    const x = 1;
    return x;
  }
}

declare const VERSION: string;

@Component({ selector: 'x' })
export class Widget extends Base implements Person<string> {
  private readonly count: number = 0;
  static make = (): Widget => {
    return new Widget();
  };
  constructor(private http: Http) { super(); }
  /** Runs. */
  async run<T>(x: T): Promise<T> {
    return x;
  }
}

export abstract class Shape {
  abstract area(): number;
}

export function over(x: string): string;
export function over(x: number): number;
export function over(x: any): any {
  // body
  return x;
}

export const useThing = <T,>(x: T): T => {
  return x;
};

export const router = t.router({
  hello: t.procedure.query(() => {
    const x = 1;
    return x;
  }),
});
"#;
        check("typescript", text, &expect![[r#"
            definitions 1-9 interface `Person` names Person name greet prose /** What people are. */ | /** Their name. */
            definitions 10-11 type `Id`
            data 12-16 enum `Colour` names Colour Red Green
            definitions 17-20 function `y` in `x` names x y
            data 21-23 variable `z` in `Space` names Space z
            definitions 24-28 function `inside` in `Space`
            data 29-30 constant `VERSION`
            definitions 31-43 class `Widget` names Widget count make constructor run prose /** Runs. */
            definitions 44-50 names Shape area over
            definitions 51-54 function `over` prose // body
            definitions 55-58 function `useThing`
            data 59-65 variable `router` names router hello
              5-9 interface `Person`: export interface Person<T> extends Base
              11-11 type `Id`: export type Id = string | number;
              13-16 enum `Colour`: export enum Colour
              18-20 module `x`: declare module 'x'
              19-19 function `y` in `x`: export function y(): void;
              22-28 module `Space`: export namespace Space
              23-23 variable `z` in `Space`: export const z = 1
              24-27 function `inside` in `Space`: export function inside(): number
              30-30 constant `VERSION`: declare const VERSION: string
              33-43 class `Widget`: export class Widget extends Base implements Person<string>
              35-37 method `make` in `Widget`: static make = (): Widget
              38-38 method `constructor` in `Widget`: constructor(private http: Http)
              40-42 method `run` in `Widget`: async run<T>(x: T): Promise<T>
              45-47 class `Shape`: export abstract class Shape
              49-49 function `over`: export function over(x: string): string;
              50-50 function `over`: export function over(x: number): number;
              51-54 function `over`: export function over(x: any): any
              56-58 function `useThing`: export const useThing = <T,>(x: T): T
              60-65 variable `router`: export const router = t.router({ hello: t.procedure.query(() => { const x = 1; return x; }), })
              61-64 function `hello` in `router`: hello: t.procedure.query(()
            imports 2
        "#]]);
    }
}

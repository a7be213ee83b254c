//! The dialect that statements are parsed in: the parser's generic one, with the precedence of operators
//! that the SQL standard and PostgreSQL give them.
//!
//! The generic dialect reads all that follows `IS DISTINCT FROM` as its right side, `AND` and `OR`
//! included, which makes other rows of a condition without a word. It takes `||` for as strong as `*`, `->>` for weaker than
//! `=`, and a list that begins with a subquery for nothing but that: `x IN ((SELECT ...), 2)`.

use std::any::TypeId;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName,
};
use sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// The function that `AT TIME ZONE` becomes.
pub(crate) const AT_TIME_ZONE: &str = "at_time_zone";

/// The generic dialect with other precedences.
#[derive(Debug)]
pub(crate) struct StandardPrecedence;

/// Hands questions on to the generic dialect.
macro_rules! as_generic {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            GenericDialect.$question()
        })*
    };
}

impl Dialect for StandardPrecedence {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    /// `||` is weaker than `+`, and stronger than comparisons. `->` and `->>` are stronger than a cast, so that
    /// `doc->>'n'::BIGINT` casts what lies in the document.
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::Arrow | Token::LongArrow => {
                Some(Ok(self.prec_value(Precedence::DoubleColon) + 1))
            }
            Token::StringConcat => Some(Ok(self.prec_value(Precedence::Pipe))),
            _ => None,
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let right = |parser: &mut Parser<'_>| parser.parse_subexpr(precedence).map(Box::new);
        let left = || Box::new(left.clone());
        if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            return Some(right(parser).map(|right| Expr::IsDistinctFrom(left(), right)));
        }
        if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            return Some(right(parser).map(|right| Expr::IsNotDistinctFrom(left(), right)));
        }
        // As a call of the function that does it: DataFusion's own cast makes nanoseconds of any time.
        if parser.parse_keywords(&[Keyword::AT, Keyword::TIME, Keyword::ZONE]) {
            return Some(right(parser).map(|zone| call(AT_TIME_ZONE, vec![*left(), *zone])));
        }
        is_in(parser).map(|negated| in_list_or_subquery(parser, left(), negated))
    }

    as_generic!(
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_multiline_comment_hints,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    );
}

/// Whether what follows is `NOT IN (`, if it is that or `IN (`.
fn is_in(parser: &Parser<'_>) -> Option<bool> {
    let is = |place: usize, keyword: Keyword| matches!(&parser.peek_nth_token_ref(place).token, Token::Word(word) if word.keyword == keyword);
    let negated = is(0, Keyword::NOT);
    let place = usize::from(negated);
    let opens = parser.peek_nth_token_ref(place + 1).token == Token::LParen;
    (is(place, Keyword::IN) && opens).then_some(negated)
}

fn in_list_or_subquery(
    parser: &mut Parser<'_>,
    expr: Box<Expr>,
    negated: bool,
) -> Result<Expr, ParserError> {
    let _ = negated && parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let subquery = parser.maybe_parse(|parser| {
        let subquery = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        Ok(subquery)
    })?;
    if let Some(subquery) = subquery {
        return Ok(Expr::InSubquery { expr, subquery, negated });
    }
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr, list, negated })
}

/// A call of a function, as the parser would have it.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let argument = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value));
    let arguments = FunctionArgumentList {
        duplicate_treatment: None,
        args: args.into_iter().map(argument).collect(),
        clauses: Vec::new(),
    };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(arguments),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
